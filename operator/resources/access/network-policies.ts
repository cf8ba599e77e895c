// Who may connect to the pods of a cluster, and where those may connect. Probes come from the Kubernetes node itself,
// which no policy keeps out.

import type {
  V1NetworkPolicy,
  V1NetworkPolicyEgressRule,
  V1NetworkPolicyIngressRule,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
} from '@kubernetes/client-node'
import type { Built } from '../parts/built.ts'
import type { ClusterInput } from '../parts/cluster-input.ts'
import { metadataOf } from '../parts/metadata.ts'
import { objectNames, OPERATOR_LABELS, PORTS, selectorLabels } from '../parts/names.ts'
import type { Component } from '../parts/names.ts'
import { etcdEndpoints } from '../nodes/node-command.ts'

type Peers = readonly Built<V1NetworkPolicyPeer>[]
type Ports = readonly Built<V1NetworkPolicyPort>[]
type Ingress = readonly Built<V1NetworkPolicyIngressRule>[]
type Egress = readonly Built<V1NetworkPolicyEgressRule>[]

/** The label that every namespace has by itself. */
const NAMESPACE_NAME = 'kubernetes.io/metadata.name'
const DNS_PORT = 53
const OWN_NAMESPACE: Peers = [{ podSelector: {} }]
const EVERY_NAMESPACE: Peers = [{ namespaceSelector: {} }]

export function nodePolicies(input: ClusterInput) {
  const { cluster } = input
  const { networkPolicy, mode } = cluster.spec
  if (!networkPolicy.enabled) return []
  const { clientFrom = OWN_NAMESPACE, metricsFrom = EVERY_NAMESPACE, extraEgress } = networkPolicy
  const nodes = podsOf(input, 'node')
  const operator = operatorPods(input)
  const ingress = [
    { from: [...clientFrom, ...nodes, ...operator], ports: tcp(PORTS.api) },
    { from: [...metricsFrom, ...operator], ports: tcp(PORTS.health, PORTS.inferenceHealth) },
    ...(mode === 'SingleNode' ? [] : [{ from: nodes, ports: tcp(PORTS.peers) }]),
  ]
  const egress = extraEgress === undefined ? undefined : [...nodeEgress(input), ...extraEgress]
  const name = objectNames(cluster.name).nodePolicy
  return [buildPolicy(input, name, { component: 'node', ingress, egress })]
}

function nodeEgress(input: ClusterInput): Egress {
  const { spec } = input.cluster
  if (spec.mode === 'SingleNode') return [DNS]
  const toNodes = { ports: tcp(PORTS.api, PORTS.peers), to: podsOf(input, 'node') }
  const toEtcd =
    spec.etcd?.mode === 'External'
      ? // Their addresses may be names, which policies do not know.
        { ports: tcp(...portsOf(etcdEndpoints(input))) }
      : { ports: tcp(PORTS.etcdClients), to: podsOf(input, 'etcd') }
  return [DNS, toNodes, toEtcd]
}

function portsOf(endpoints: readonly string[]): readonly number[] {
  const ports = endpoints.map((endpoint) => {
    const url = URL.parse(endpoint)
    if (url === null || url.port === '') return PORTS.etcdClients
    return Number(url.port)
  })
  return [...new Set(ports)].toSorted((one, other) => one - other)
}

export function etcdPolicies(input: ClusterInput) {
  const { cluster } = input
  const { enabled, metricsFrom = EVERY_NAMESPACE } = cluster.spec.networkPolicy
  if (!enabled) return []
  const members = podsOf(input, 'etcd')
  const operator = operatorPods(input)
  const ingress = [
    { from: [...podsOf(input, 'node'), ...operator], ports: tcp(PORTS.etcdClients) },
    { from: members, ports: tcp(PORTS.etcdPeers) },
    { from: [...metricsFrom, ...operator], ports: tcp(PORTS.etcdMetrics) },
  ]
  const egress = [DNS, { ports: tcp(PORTS.etcdPeers), to: members }]
  const name = objectNames(cluster.name).etcdPolicy
  return [buildPolicy(input, name, { component: 'etcd', ingress, egress })]
}

/** Names are asked for wherever the Kubernetes cluster has its DNS. */
const DNS: Egress[number] = {
  ports: [
    { port: DNS_PORT, protocol: 'UDP' },
    { port: DNS_PORT, protocol: 'TCP' },
  ],
}

function tcp(...ports: readonly number[]): Ports {
  return ports.map((port) => ({ port, protocol: 'TCP' }))
}

function podsOf({ cluster }: ClusterInput, component: Component): Peers {
  return [{ podSelector: { matchLabels: selectorLabels(cluster.name, component) } }]
}

function operatorPods({ decided }: ClusterInput): Peers {
  return [
    {
      namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: decided.operatorNamespace } },
      podSelector: { matchLabels: OPERATOR_LABELS },
    },
  ]
}

interface PolicyOptions {
  readonly component: Component
  readonly ingress: Ingress
  /** Absent: pods may connect everywhere. */
  readonly egress: Egress | undefined
}

function buildPolicy(
  { cluster }: ClusterInput,
  name: string,
  { component, ingress, egress }: PolicyOptions,
) {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadataOf(cluster, name, { component }),
    spec: {
      ingress,
      podSelector: { matchLabels: selectorLabels(cluster.name, component) },
      policyTypes: egress === undefined ? ['Ingress'] : ['Ingress', 'Egress'],
      ...(egress === undefined ? {} : { egress }),
    },
  } satisfies Built<V1NetworkPolicy>
}
