// The chart, as far as no Helm is needed; test/e2e/api/chart-rendered.test.ts renders it.

import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Ajv } from 'ajv'
import { expect } from 'chai'
import { copiedFiles } from '../e2e/support/chart-files.ts'
import { CHART, ROOT } from '../e2e/support/helm.ts'
import { parseYaml } from '../support/yaml.ts'

const INSTALL = 'docs/how-to/install-operator.md'

const textOf = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const chartText = (file: string): string => readFileSync(path.join(CHART, file), 'utf8')

type Values = Readonly<Record<string, unknown>>

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
}

describe('the chart', () => {
  const values: Values = parseYaml(chartText('values.yaml'))
  const schema: Schema = JSON.parse(chartText('values.schema.json'))
  const isValid = new Ajv({ allErrors: true, strict: false }).compile(schema)

  it('has the version of the product', () => {
    const { version, appVersion } = parseYaml(chartText('Chart.yaml'))
    const product: unknown = JSON.parse(textOf('package.json')).version

    expect({ version, appVersion }).to.deep.equal({ version: product, appVersion: product })
  })

  it('packs crds/ and the alerts as they are (npm run chart)', () => {
    const stale = [...copiedFiles()]
      .filter(([file, text]) => !existsSync(path.join(ROOT, file)) || textOf(file) !== text)
      .map(([file]) => file)
    const strays = globSync('charts/quarry/files/crds/*', { cwd: ROOT }).filter(
      (file) => !copiedFiles().has(file),
    )

    expect({ stale, strays }).to.deep.equal({ stale: [], strays: [] })
  })

  it('has a default for each value that its schema knows, and no other', () => {
    expect(isValid(values), JSON.stringify(isValid.errors)).to.equal(true)
    expect(valuesMissingFrom(schema, values)).to.deep.equal(['global'])
  })

  it('has profiles that its schema allows', () => {
    const profiles = globSync('charts/quarry/profiles/*.yaml', { cwd: ROOT })
    const refused = profiles.filter((file) => !isValid(parseYaml(textOf(file))))

    expect(profiles.length).to.be.greaterThan(3)
    expect(refused).to.deep.equal([])
  })

  it('refuses several replicas without leader election, and values that nobody reads', () => {
    const without = { leaderElection: { enabled: false } }

    expect(isValid({ ...without, replicas: 1 })).to.equal(true)
    expect(isValid({ ...without, replicas: 2 })).to.equal(false)
    expect(isValid({ replica: 1 })).to.equal(false)
    expect(isValid({ rbac: { secrets: true } })).to.equal(false)
  })

  it('is documented: each value, and each flag that the container is started with', () => {
    const page = textOf(INSTALL)
    const flags = [...chartText('templates/deployment.yaml').matchAll(/- (--[a-z-]+)=/g)].map(
      ([, flag = '']) => flag,
    )
    const expected = [...flags, ...Object.keys(values)]

    expect(flags).to.include('--watch-namespaces')
    expect(expected.filter((name) => !page.includes(`\`${name}`))).to.deep.equal([])
  })

  it('has samples of different names, each a cluster', () => {
    const samples = globSync('charts/quarry/samples/*.yaml', { cwd: ROOT }).map((file) =>
      parseYaml(textOf(file)),
    )
    const names = samples.map((sample) => sample.metadata.name)

    expect(new Set(samples.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`))).to.deep.equal(
      new Set(['quarry.dev/v1alpha1 StoreCluster']),
    )
    expect(new Set(names).size).to.equal(names.length)
  })
})

/** Paths of the schema's members for which `values` has nothing. */
function valuesMissingFrom(schema: Schema, values: unknown, prefix = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const value = typeof values === 'object' && values !== null ? Object.entries(values) : []
    const found = value.find(([key]) => key === name)
    if (found === undefined) return [`${prefix}${name}`]
    return valuesMissingFrom(member, found[1], `${prefix}${name}.`)
  })
}
