// How the API server keeps a StoreCluster: defaults, limits, unknown fields, status, scale, descriptions, deletions.

import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import {
  buildStoreClusterCrd,
  storeClusterSchema,
} from '../../../operator/kinds/crd/store-cluster-crd.ts'
import { readStoreCluster } from '../../../operator/kinds/crd/read-store-cluster.ts'
import { schemaFields } from '../../../operator/kinds/crd/structural-schema.ts'
import { failureOf } from '../../support/failure-of.ts'
import type { Json } from '../../support/operator/rule-cases.ts'
import { storedCluster } from '../../support/operator/stored-cluster.ts'
import { eventually } from '../support/eventually.ts'
import {
  applyKinds,
  manifest,
  refusalOf,
  storedObject,
  StoreClusters,
} from '../support/store-clusters.ts'
import { limitCases } from '../support/limit-cases.ts'
import { TestNamespace, useNamespace } from '../support/test-namespace.ts'
import { parseYaml } from '../../support/yaml.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

describe('StoreCluster at the API server', function () {
  this.timeout(300_000)

  const namespace = useNamespace('api', import.meta.filename)
  let clusters: StoreClusters

  before(async () => {
    await applyKinds(namespace())
    clusters = new StoreClusters(namespace())
  })

  it('fills in every default, as the schema has it', async () => {
    const object = storedObject(await clusters.create(manifest({ name: 'defaults' })))

    expect(object['spec']).to.deep.equal(storedCluster().spec)
    expect(object['status']).to.equal(undefined)
  })

  it('stores what the reader reads', async () => {
    const object = storedObject(await clusters.tryCreate(manifest({ name: 'read' })))
    const withVersion = {
      ...object,
      metadata: { ...partOf(object, 'metadata'), resourceVersion: '1' },
    }

    const read = readStoreCluster(withVersion)

    expect(read.kind, JSON.stringify(read)).to.equal('cluster')
  })

  it('accepts the samples, and the examples of pages', async () => {
    const page = readFileSync(join(ROOT, 'docs/reference/store-cluster.md'), 'utf8')
    const example = /```yaml\n([^]*?)```/.exec(page)?.[1] ?? ''
    const first = readFileSync(join(ROOT, 'docs/tutorials/first-cluster.md'), 'utf8')
    const typed = [...first.matchAll(/<<'END'.*\n([^]*?)\nEND\n/g)].map(([, body = '']) => body)
    const samples = globSync('charts/quarry/samples/*.yaml', { cwd: ROOT })
    expect(typed).to.have.length(2)
    expect(samples).not.to.deep.equal([])

    for (const text of [
      example,
      ...typed.map((body) => body.replace('name: notes', 'name: typed')),
      ...samples.map((file) => readFileSync(join(ROOT, file), 'utf8')),
    ]) {
      const sample: Json = parseYaml(text)
      storedObject(await clusters.tryCreate(sample))
      expect(clusters.warnings).to.equal('')
    }
  })

  it('prunes fields that it does not know, and warns of each', async () => {
    const spec = { nods: 3, nodes: { replica: 3 }, config: { any_option: { kept: true } } }

    const object = storedObject(await clusters.create(manifest({ name: 'pruned', spec })))

    expect(partOf(object, 'spec')).not.to.have.property('nods')
    expect(Object(partOf(object, 'spec')['nodes'])).not.to.have.property('replica')
    expect(partOf(object, 'spec')['config']).to.deep.equal({ any_option: { kept: true } })
    expect(clusters.warnings).to.include('unknown field \\"spec.nods\\"')
    expect(clusters.warnings).to.include('unknown field \\"spec.nodes.replica\\"')
  })

  it('refuses what is beyond a limit, and names the field', async () => {
    const cases = limitCases(storeClusterSchema())
    expect(cases.length).to.be.above(400)

    const silent: string[] = []
    for (const { path, what, spec } of cases) {
      const answer = await clusters.tryCreate(manifest({ name: 'limits', spec }))
      const causes = answer.kind === 'refused' ? answer.refusal.causes : []
      if (!causes.some(({ field }) => field === path || field.startsWith(`${path}[`))) {
        silent.push(`${path}: ${what}: ${JSON.stringify(answer).slice(0, 300)}`)
      }
    }
    expect(silent).to.deep.equal([])
  })

  it('accepts what is at a limit', async () => {
    const wrong: string[] = []
    for (const { path, what, spec } of limitCases(storeClusterSchema(), 'within')) {
      const answer = await clusters.tryCreate(manifest({ name: 'limits', spec }))
      const causes = answer.kind === 'refused' ? answer.refusal.causes : []
      // A rule about several fields may refuse the object; a limit of this field must not.
      const limits = causes.filter(({ message }) =>
        /should|must be of type|Unsupported/.test(message),
      )
      if (limits.length > 0) wrong.push(`${path}: ${what}: ${JSON.stringify(limits)}`)
    }
    expect(wrong).to.deep.equal([])
  })

  it('describes each field in kubectl explain', async () => {
    const schema = storeClusterSchema()
    const objects = schemaFields(schema).filter(({ schema: { properties, items } }) =>
      [properties, items?.properties].some((inner) => inner !== undefined),
    )

    const mute: string[] = []
    for (const { path, schema: field } of objects) {
      if (path.includes('{}') || path.endsWith('[]')) continue
      const name = path.replaceAll('[]', '')
      const words = wordsOf(await namespace().kubectl(['explain', `storecluster.${name}`]))
      const fields = Object.entries(field.properties ?? field.items?.properties ?? {})
      for (const [inner, { description = '' }] of fields) {
        if (!words.includes(wordsOf(description))) mute.push(`${name}.${inner}`)
      }
    }
    expect(mute).to.deep.equal([])
  })

  it('ignores a status that comes with the object, and takes it at its own place', async () => {
    const status = {
      phase: 'Running',
      selector: 'app.kubernetes.io/name=quarry',
      nodes: { desired: 3, current: 2, ready: 2, updated: 2 },
    }
    const object = storedObject(
      await clusters.create({ ...manifest({ name: 'status' }), status: { phase: 'Failed' } }),
    )

    const written = storedObject(
      await clusters.writeStatus({
        ...object,
        spec: { ...partOf(object, 'spec'), hibernate: true },
        status,
      }),
    )

    expect(object).not.to.have.property('status')
    expect(written['status']).to.deep.equal(status)
    expect(partOf(written, 'spec')['hibernate']).to.equal(false)
    expect(partOf(written, 'metadata')['generation']).to.equal(1)
  })

  it('is scaled as other workloads are', async () => {
    const raw = `/apis/quarry.dev/v1alpha1/namespaces/${namespace().name}/storeclusters/status/scale`
    const before = JSON.parse(await namespace().tier.kubectl(['get', `--raw=${raw}`]))

    await namespace().kubectl(['scale', 'storecluster/status', '--replicas=5'])

    expect(before.spec).to.deep.equal({ replicas: 3 })
    expect(before.status).to.deep.equal({ replicas: 2, selector: 'app.kubernetes.io/name=quarry' })
    expect(await namespace().value('storecluster', 'status', '{.spec.nodes.replicas}')).to.equal(
      '5',
    )
  })

  it('refuses to scale a single node', async () => {
    const spec = { mode: 'SingleNode', nodes: { replicas: 1 } }
    storedObject(await clusters.create(manifest({ name: 'single', spec })))

    const refused = await failureOf(
      namespace().kubectl(['scale', 'storecluster/single', '--replicas=2']),
    )

    expect(String(refused)).to.include('spec.nodes.replicas must be 1')
  })

  it('shows columns, by its short name and its category', async () => {
    const narrow = await namespace().kubectl(['get', 'qsc'])
    const wide = await namespace().kubectl(['get', 'store', '-o', 'wide'])

    expect(narrow.split('\n')[0]!.split(/\s+/)).to.deep.equal(
      ['NAME', 'READY', 'HEALTH', 'NODES', 'VERSION', 'OPERATION', 'AGE', ''].slice(0, 7),
    )
    expect(wide.split('\n')[0]).to.match(/AGE\s+IMAGE\s+ZONES\s+ETCD/)
  })

  it('is defined by client-side apply as by server-side apply', async () => {
    const input = JSON.stringify(buildStoreClusterCrd())

    await namespace().tier.kubectl(['apply', '--dry-run=server', '-f', '-'], { input })
    await namespace().tier.kubectl(
      ['apply', '--server-side', '--dry-run=server', '--force-conflicts', '-f', '-'],
      { input },
    )
  })

  it('belongs to several managers, each of its own items', async () => {
    const one = manifest({
      name: 'shared',
      spec: { nodes: { env: [{ name: 'ONE', value: 'a' }] } },
    })
    const other = {
      ...manifest({ name: 'shared' }),
      spec: { nodes: { env: [{ name: 'OTHER', value: 'b' }] } },
    }
    await namespace().apply(one, 'one')

    await namespace().apply(other, 'other')

    const names = await namespace().value('storecluster', 'shared', '{.spec.nodes.env[*].name}')
    expect(names).to.equal('ONE OTHER')
  })

  it('is protected from deletion, alone and among others, until the field is false', async () => {
    const name = 'protected'
    await namespace().apply(manifest({ name, spec: { deletionProtection: true } }))
    await eventually(
      'the policy counts',
      () => clusters.tryDelete(name),
      ({ kind }) => kind === 'refused',
    )

    const alone = refusalOf(await clusters.delete(name))
    const among = await failureOf(namespace().kubectl(['delete', 'storeclusters', '--all']))
    const [, stored] = [
      await namespace().apply(manifest({ name, spec: { deletionProtection: false } })),
      await clusters.delete(name),
    ]

    expect(alone.code).to.equal(403)
    expect(alone.message).to.include('spec.deletionProtection is true')
    expect(String(among)).to.include('spec.deletionProtection is true')
    expect(stored.kind).to.equal('stored')
  })

  it('does not keep a namespace from being deleted', async () => {
    const other = await TestNamespace.create(namespace().tier, 'protected')
    await other.apply(manifest({ spec: { deletionProtection: true } }))
    await eventually(
      'the policy counts',
      () => new StoreClusters(other).tryDelete('books'),
      ({ kind }) => kind === 'refused',
    )

    await other.tier.kubectl(['delete', 'namespace', other.name, '--timeout=120s'])
  })
})

/** The words of a text, however it is broken into lines. */
function wordsOf(text: string): string {
  return text.split(/\s+/).join(' ')
}

function partOf(object: Json, name: string): Json {
  return Object(object[name])
}
