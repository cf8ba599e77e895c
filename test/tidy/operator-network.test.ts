// Two policies must let a connection of the operator pass: that of its own pods, which the chart has, and that of the pods it
// asks, which it makes itself.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { etcdPolicies, nodePolicies } from '../../operator/resources/access/network-policies.ts'
import { PORTS } from '../../operator/resources/parts/names.ts'
import type { Component } from '../../operator/resources/parts/names.ts'
import { inputOf } from '../support/operator/cluster-inputs.ts'
import { parseAllYaml } from '../support/yaml.ts'

const RENDERED = path.resolve(import.meta.dirname, '../../deploy/operator.yaml')
const COMPONENT = 'app.kubernetes.io/component'

interface Peer {
  readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>> }
}

interface Rule {
  readonly ports?: readonly { readonly port?: number | string }[]
  readonly from?: readonly Peer[]
  readonly to?: readonly Peer[]
}

interface Policy {
  readonly kind: string
  readonly spec: { readonly ingress?: readonly Rule[]; readonly egress?: readonly Rule[] }
}

function names(component: string, peers: readonly Peer[] = []): boolean {
  return peers.some(({ podSelector }) => podSelector?.matchLabels?.[COMPONENT] === component)
}

function portsOf(rules: readonly Rule[]): readonly (number | string | undefined)[] {
  return rules.flatMap(({ ports = [] }) => ports.map(({ port }) => port))
}

const rendered: readonly Policy[] = parseAllYaml(readFileSync(RENDERED, 'utf8'))
const egress = rendered
  .filter(({ kind }) => kind === 'NetworkPolicy')
  .flatMap(({ spec }) => spec.egress ?? [])

describe('the network of the operator', () => {
  const input = inputOf({ nodes: { storage: { size: '1Gi' } } })
  const policies: Readonly<Record<Component, readonly Policy[]>> = {
    node: nodePolicies(input),
    etcd: etcdPolicies(input),
  }

  for (const [component, own] of Object.entries(policies)) {
    it(`lets it ask of pods of the component ${component} what those let it ask`, () => {
      const asked = egress.filter(({ to }) => names(component, to))
      const answered = own.flatMap(({ spec }) =>
        (spec.ingress ?? []).filter(({ from }) => names('operator', from)),
      )

      expect(portsOf(asked)).to.have.members(portsOf(answered))
    })
  }

  it('lets it ask nodes and the inference servers beside them how they are', () => {
    const asked = portsOf(egress.filter(({ to }) => names('node', to)))

    expect(asked).to.include.members([PORTS.api, PORTS.health, PORTS.inferenceHealth])
  })
})
