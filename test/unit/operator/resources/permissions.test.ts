import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { load } from 'js-yaml'
import {
  CLUSTER_RULES,
  CLUSTER_WIDE_RULES,
  LEADER_RULES,
  POD_MONITOR_RULES,
  WATCHED_KINDS,
} from '../../../../operator/resources/permissions.ts'

const CHART = new URL('../../../../charts/quarry/templates/', import.meta.url)
const ALL = [...CLUSTER_RULES, ...POD_MONITOR_RULES, ...LEADER_RULES, ...CLUSTER_WIDE_RULES]

describe('the permissions of the operator', () => {
  it('have no wildcard', () => {
    for (const { apiGroups, resources, verbs } of ALL) {
      expect(
        [...apiGroups, ...resources, ...verbs].filter((word) => word.includes('*')),
      ).to.deep.equal([])
    }
  })

  it('let it hand no permission on, and take nobody else for itself', () => {
    const verbs = new Set(ALL.flatMap((rule) => rule.verbs))
    const resources = new Set(ALL.flatMap((rule) => rule.resources))

    expect(
      ['escalate', 'bind', 'impersonate'].filter((verb) => new Set<string>(verbs).has(verb)),
    ).to.deep.equal([])
    const refused = ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings', 'nodes/proxy']
    const others = [
      'customresourcedefinitions',
      'validatingwebhookconfigurations',
      'serviceaccounts/token',
    ]
    expect([...refused, ...others].filter((resource) => resources.has(resource))).to.deep.equal([])
  })

  it('let it list or watch no secrets', () => {
    const ofSecrets = ALL.filter(({ resources }) => resources.includes('secrets'))

    expect(ofSecrets.flatMap(({ verbs }) => verbs)).to.deep.equal([
      'get',
      'create',
      'patch',
      'delete',
    ])
  })

  it('let it run nothing in a pod, make no pod, and read no log', () => {
    const resources = ALL.flatMap((rule) => rule.resources)
    const ofPods = ALL.filter((rule) => rule.resources.includes('pods'))

    expect(resources.filter((resource) => resource.startsWith('pods/'))).to.deep.equal([])
    expect(ofPods.filter(({ verbs }) => verbs.includes('create'))).to.deep.equal([])
  })

  it('let it watch each kind that it watches', () => {
    for (const { apiVersion, plural } of WATCHED_KINDS) {
      const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : []
      const rule = ALL.find(
        ({ apiGroups, resources }) => apiGroups.includes(group) && resources.includes(plural),
      )

      expect(rule?.verbs, plural).to.include.members(['get', 'list', 'watch'])
    }
  })

  it('are those of the chart', () => {
    expect(rulesIn('_rules.tpl', /^- apiGroups/m)).to.deep.equal([
      ...CLUSTER_RULES,
      ...POD_MONITOR_RULES,
    ])
    const others = readFileSync(new URL('rbac.yaml', CHART), 'utf8').split(/^rules:\n/m)
    const [leader, wide] = others.slice(1).map((text) => parsed(text.split(/^---/m)[0] ?? ''))
    expect(leader).to.deep.equal(LEADER_RULES)
    expect(wide).to.deep.equal(CLUSTER_WIDE_RULES)
  })
})

function rulesIn(file: string, begin: RegExp): unknown {
  const text = readFileSync(new URL(file, CHART), 'utf8')
  return parsed(text.slice(text.search(begin)))
}

/** A template's YAML, without what Helm replaces. */
function parsed(text: string): unknown {
  return load(
    text
      .split('\n')
      .filter((line) => !line.includes('{{'))
      .join('\n'),
  )
}
