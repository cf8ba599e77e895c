// The Services of a cluster: the one of its clients, and those that give its pods names.

import type { V1Service } from '@kubernetes/client-node'
import { present } from '../parts/built.ts'
import type { Built } from '../parts/built.ts'
import type { ClusterInput } from '../parts/cluster-input.ts'
import { metadataOf } from '../parts/metadata.ts'
import { objectNames, PORT_NAMES, PORTS, selectorLabels } from '../parts/names.ts'
import type { Component } from '../parts/names.ts'
import { withoutOwned } from '../parts/pods.ts'

/** Any node answers every request. */
export function buildClientService({ cluster }: ClusterInput) {
  const { clientService } = cluster.spec
  const { type, port, annotations, labels, loadBalancerClass, loadBalancerSourceRanges } =
    clientService
  const metadata = {
    labels: withoutOwned(labels),
    annotations: annotations === undefined ? undefined : withoutOwned(annotations),
  }
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(cluster, objectNames(cluster.name).clientService, metadata),
    spec: {
      ports: [{ name: PORT_NAMES.api, port, protocol: 'TCP', targetPort: PORT_NAMES.api }],
      selector: selectorLabels(cluster.name, 'node'),
      type,
      ...present({ loadBalancerClass, loadBalancerSourceRanges }),
    },
  } satisfies Built<V1Service>
}

/** Gives each node a name. */
export function buildNodesService(input: ClusterInput) {
  const ports = [
    { name: PORT_NAMES.api, port: PORTS.api },
    { name: PORT_NAMES.health, port: PORTS.health },
    ...(input.cluster.spec.mode === 'SingleNode'
      ? []
      : [{ name: PORT_NAMES.peers, port: PORTS.peers }]),
  ]
  return headless(input, objectNames(input.cluster.name).nodesService, { component: 'node', ports })
}

/** Gives each member of etcd a name. */
export function buildEtcdService(input: ClusterInput) {
  const ports = [
    { name: PORT_NAMES.etcdClients, port: PORTS.etcdClients },
    { name: PORT_NAMES.etcdPeers, port: PORTS.etcdPeers },
  ]
  return headless(input, objectNames(input.cluster.name).etcdService, { component: 'etcd', ports })
}

interface HeadlessOptions {
  readonly component: Component
  readonly ports: readonly { readonly name: string; readonly port: number }[]
}

function headless({ cluster }: ClusterInput, name: string, { component, ports }: HeadlessOptions) {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(cluster, name, { component }),
    spec: {
      clusterIP: 'None',
      ports: ports.map((port) => ({ ...port, protocol: 'TCP', targetPort: port.name })),
      // Nodes vouch for each other, and members of etcd elect, before any of them is ready.
      publishNotReadyAddresses: true,
      selector: selectorLabels(cluster.name, component),
      type: 'ClusterIP',
    },
  } satisfies Built<V1Service>
}
