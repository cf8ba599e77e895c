// The names of everything that belongs to a cluster. They follow from its name and namespace, and never change.

import { createHash } from 'node:crypto'
import { GROUP } from '../../kinds/cluster/owned-names.ts'

/** How many members an etcd has at most; its certificates name all of them from the beginning. */
export const ETCD_MEMBERS_MAX = 5

export const PORTS = {
  api: 8080,
  health: 4200,
  peers: 7400,
  inference: 8082,
  inferenceHealth: 4201,
  etcdClients: 2379,
  etcdPeers: 2380,
  etcdMetrics: 2381,
} as const

/** The names of ports. The PodMonitor selects by the names of health and metrics. */
export const PORT_NAMES = {
  api: 'api',
  health: 'health',
  peers: 'peers',
  inferenceHealth: 'infer-health',
  etcdClients: 'clients',
  etcdPeers: 'peers',
  etcdMetrics: 'metrics',
} as const

const FIELD_MANAGER = 'quarry-operator'

/** The annotations of pod templates and claims. */
export const ANNOTATIONS = {
  configHash: `${GROUP}/config-hash`,
  secretHash: `${GROUP}/secret-hash`,
  restartedAt: `${GROUP}/restarted-at`,
  templateDigest: `${GROUP}/template-digest`,
  version: `${GROUP}/version`,
  clusterUID: `${GROUP}/cluster-uid`,
  drained: `${GROUP}/drained`,
  defaultImage: `${GROUP}/default-image`,
} as const

/** The keys of generated Secrets and ConfigMaps. */
export const KEYS = {
  clusterSecret: 'cluster-secret',
  acceptedSecret: 'accepted-secret',
  nodeConfig: 'quarry.yaml',
  inferenceConfig: 'inference.yaml',
  initialCluster: 'initial-cluster',
  initialClusterState: 'initial-cluster-state',
} as const

/** The names of containers: the server of each component, and what runs beside a node. */
export const CONTAINERS = { node: 'quarry', etcd: 'etcd', inference: 'inference' } as const

export type Component = 'node' | 'etcd'

/** The cluster that objects are built for. */
export interface ClusterIdentity {
  readonly name: string
  readonly namespace: string
  readonly uid: string
}

/** The names of a cluster's objects. */
export function objectNames(cluster: string) {
  return {
    nodeSet: `${cluster}-node`,
    nodesService: `${cluster}-nodes`,
    clientService: cluster,
    config: `${cluster}-config`,
    nodeBudget: `${cluster}-node`,
    nodePolicy: `${cluster}-node`,
    serviceAccount: cluster,
    secret: `${cluster}-secret`,
    podMonitor: cluster,
    etcdSet: `${cluster}-etcd`,
    etcdService: `${cluster}-etcd`,
    etcdBudget: `${cluster}-etcd`,
    etcdPolicy: `${cluster}-etcd`,
    etcdMembers: `${cluster}-etcd`,
    etcdAuthority: `${cluster}-etcd-ca`,
    etcdCertificates: `${cluster}-etcd-tls`,
  } as const
}

/** By these the cluster's objects are found. Selectors cannot be changed, so this may never change. */
export function selectorLabels(
  cluster: string,
  component: Component,
): Readonly<Record<string, string>> {
  return {
    'app.kubernetes.io/component': component,
    'app.kubernetes.io/instance': cluster,
    'app.kubernetes.io/name': 'quarry',
  }
}

/** By these the operator's own pods are found. */
export const OPERATOR_LABELS: Readonly<Record<string, string>> = {
  'app.kubernetes.io/component': 'operator',
  'app.kubernetes.io/name': 'quarry',
}

export function objectLabels(
  cluster: string,
  component: Component,
): Readonly<Record<string, string>> {
  return {
    ...selectorLabels(cluster, component),
    'app.kubernetes.io/managed-by': FIELD_MANAGER,
    'app.kubernetes.io/part-of': 'quarry',
  }
}

/** A cluster's name in etcd, which Quarry allows 63 characters. */
const KEY_NAME_LENGTH_MAX = 63
const DIGEST_LENGTH = 8

/** What the nodes give to `--cluster`: an etcd that several Kubernetes namespaces use keeps them apart by it. */
export function keyName({ name, namespace }: ClusterIdentity): string {
  const whole = `${namespace}.${name}`
  if (whole.length <= KEY_NAME_LENGTH_MAX) return whole
  const digest = createHash('sha256').update(namespace).digest('hex').slice(0, DIGEST_LENGTH)
  const left = KEY_NAME_LENGTH_MAX - name.length - digest.length - 2
  return `${namespace.slice(0, left)}-${digest}.${name}`
}

/**
 * The name under which a member of etcd is reached, without the domain of the Kubernetes cluster: pods look for
 * names in that domain by themselves, and no pod has to know it.
 */
export function etcdHost({ name, namespace }: ClusterIdentity, pod: string): string {
  return `${pod}.${objectNames(name).etcdService}.${namespace}.svc`
}

export function etcdPods(cluster: string, members: number): readonly string[] {
  return Array.from({ length: members }, (_, at) => `${objectNames(cluster).etcdSet}-${at}`)
}

/** The name that members of etcd show to each other, and clients do not. */
export const ETCD_PEER_NAME = 'etcd-peer'

/** By which names the certificates of an own etcd are made. */
export function etcdCertificateNames(cluster: ClusterIdentity) {
  const hosts = etcdPods(cluster.name, ETCD_MEMBERS_MAX).map((pod) => etcdHost(cluster, pod))
  const service = `${objectNames(cluster.name).etcdService}.${cluster.namespace}.svc`
  return {
    cluster: cluster.name,
    server: [...hosts, service, 'localhost', '127.0.0.1'],
    peer: hosts,
    peerCommonName: ETCD_PEER_NAME,
  }
}
