// The chart as Helm renders it. What needs no Helm is in test/tidy/chart.test.ts.

import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { failureOf } from '../../support/failure-of.ts'
import { renderedFiles } from '../support/chart-files.ts'
import { CHART, helm, renderChart, ROOT } from '../support/helm.ts'
import { objectsIn, rulesOf, type RenderedObject, type Rule } from '../support/manifests.ts'

const OPERATOR = 'quarry-operator'
const PROFILES = ['', ...globSync(path.join(CHART, 'profiles/*.yaml')).toSorted()]
const ORIGINALS = globSync('crds/*.yaml', { cwd: ROOT })
  .toSorted()
  .flatMap((file) => objectsIn(readFileSync(path.join(ROOT, file), 'utf8')))
const FORBIDDEN_VERBS = ['*', 'escalate', 'bind', 'impersonate']
const FORBIDDEN_RESOURCES =
  /\*|^pods\/|^nodes\/|^roles$|^rolebindings$|^clusterroles|webhookconfigurations|customresourcedefinitions|tokenreviews|serviceaccounts\/token/

const valuesOf = (profile: string): readonly string[] =>
  profile === '' ? [] : [`--values=${profile}`]

function has({ resources, verbs }: Rule, resource: string, ...some: readonly string[]): boolean {
  return resources.includes(resource) && verbs.some((verb) => some.includes(verb))
}

function isCrd({ kind }: RenderedObject): boolean {
  return kind === 'CustomResourceDefinition'
}

function isPolicy({ kind }: RenderedObject): boolean {
  return kind.startsWith('ValidatingAdmissionPolicy')
}

function verbsOf(objects: readonly RenderedObject[], role: string): readonly string[] | undefined {
  const label = `rbac.authorization.k8s.io/aggregate-to-${role}`
  return objects
    .find(({ metadata }) => metadata.labels?.[label] === 'true')
    ?.rules?.find(({ resources }) => resources.includes('storeclusters'))?.verbs
}

describe('the rendered chart', function () {
  this.timeout(240_000)

  const rendered = new Map<string, readonly RenderedObject[]>()
  const objectsOf = (profile: string): readonly RenderedObject[] => rendered.get(profile) ?? []

  before(async () => {
    for (const profile of PROFILES) {
      rendered.set(profile, objectsIn(await renderChart(...valuesOf(profile))))
    }
  })

  it('passes helm lint with each profile', async () => {
    for (const profile of PROFILES) {
      const said = await helm('lint', '--strict', CHART, ...valuesOf(profile))
      expect(said).to.include('0 chart(s) failed')
    }
  })

  it('is what the snapshots show (npm run chart)', async () => {
    const stale = [...(await renderedFiles())]
      .filter(([file, text]) => {
        const target = path.join(ROOT, file)
        return !existsSync(target) || readFileSync(target, 'utf8') !== text
      })
      .map(([file]) => file)

    expect(stale).to.deep.equal([])
  })

  it('gives the operator no right that makes rights, and no secret that it cannot name', () => {
    for (const profile of PROFILES) {
      const rules = rulesOf(objectsOf(profile), OPERATOR).map(({ rule }) => rule)
      const wide = rules.filter(
        ({ apiGroups, resources, verbs }) =>
          apiGroups.includes('*') ||
          verbs.some((verb) => FORBIDDEN_VERBS.includes(verb)) ||
          resources.some((resource) => FORBIDDEN_RESOURCES.test(resource)),
      )
      const listing = rules.filter((rule) => has(rule, 'secrets', 'list', 'watch'))

      expect(rules.length, profile).to.be.greaterThan(10)
      expect([...wide, ...listing], profile).to.deep.equal([])
    }
  })

  it('would show a rule that is too wide', () => {
    const tooWide: readonly Rule[] = [
      { apiGroups: [''], resources: ['pods/exec'], verbs: ['create'] },
      { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
      { apiGroups: ['*'], resources: ['*'], verbs: ['get'] },
    ]

    const found = tooWide.filter(({ resources }) =>
      resources.some((resource) => FORBIDDEN_RESOURCES.test(resource)),
    )
    expect(found).to.deep.equal(tooWide)
    expect(
      has({ apiGroups: [''], resources: ['secrets'], verbs: ['watch'] }, 'secrets', 'watch'),
    ).to.equal(true)
  })

  it('gives the operator nothing outside of the namespaces that are listed', async () => {
    const values = ['--set=watchNamespaces={books,papers}', '--set=rbac.clusterReads=false']
    const objects = objectsIn(await renderChart(...values))
    const places = new Set(rulesOf(objects, OPERATOR).map(({ where }) => where))
    const secrets = rulesOf(objects, OPERATOR).filter(({ rule }) => has(rule, 'secrets', 'get'))

    expect(places).to.deep.equal(new Set(['books', 'papers', 'quarry-system']))
    expect(secrets.map(({ where }) => where)).to.deep.equal(['books', 'papers'])
  })

  it('adds to view, edit and admin, where edit may be kept from deleting', async () => {
    const kept = objectsIn(await renderChart('--set=rbac.aggregate.editMayDelete=false'))

    expect(verbsOf(objectsOf(''), 'view')).to.deep.equal(['get', 'list', 'watch'])
    expect(verbsOf(objectsOf(''), 'edit')).to.include('delete')
    expect(verbsOf(kept, 'edit')).to.deep.equal(['create', 'update', 'patch'])
    expect(verbsOf(kept, 'admin')).to.include('delete')
  })

  it('has the kinds of crds/, which stay when it is removed', async () => {
    const left = objectsIn(await renderChart('--set=crds.keep=false'))
    const without = objectsIn(await renderChart('--set=crds.install=false'))
    const annotated = ORIGINALS.filter(isCrd).map((crd) => ({
      ...crd,
      metadata: { ...crd.metadata, annotations: { 'helm.sh/resource-policy': 'keep' } },
    }))

    expect(annotated).to.have.length(1)
    expect(objectsOf('').filter(isCrd)).to.deep.equal(annotated)
    expect(left.filter(isCrd)).to.deep.equal(ORIGINALS.filter(isCrd))
    expect(without.filter(isCrd)).to.deep.equal([])
  })

  it('protects clusters from deletion as crds/ does, only where the API server can', async () => {
    const older = objectsIn(await helm('template', 'quarry', CHART, '--kube-version=1.30.0'))

    expect(ORIGINALS.filter(isPolicy)).to.have.length(2)
    expect(objectsOf('').filter(isPolicy)).to.have.deep.members(ORIGINALS.filter(isPolicy))
    expect(older.filter(isPolicy)).to.deep.equal([])
  })

  it('refuses values that it does not know', async () => {
    const refused = await failureOf(renderChart('--set=watchNamespace=books'))

    expect(String(refused)).to.include('watchNamespace')
  })
})
