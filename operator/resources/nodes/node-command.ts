// The command line of a node. Flags win over the environment and over the configuration file, so that whatever
// people write there, the operator's own settings hold.

import type { ClusterInput } from '../parts/cluster-input.ts'
import { etcdHost, etcdPods, keyName, KEYS, objectNames, PORTS } from '../parts/names.ts'
import { ETCD_FILES, PATHS } from './node-paths.ts'

const EVERY_ADDRESS = '0.0.0.0'
/** How many members an etcd has that the spec does not speak of. */
export const ETCD_MEMBERS = 3
/** A node is told three members: while five have a quorum, at least one of any three runs. */
const TOLD_MAX = 3

/** `quarry node`, or `quarry swarm` for a cluster of one node without etcd. */
export function nodeCommand(input: ClusterInput): readonly string[] {
  return input.cluster.spec.mode === 'SingleNode'
    ? // The inference server is a container of its own, or there is none.
      ['swarm', '--no-inference', ...serverFlags(input)]
    : ['node', ...serverFlags(input), ...memberFlags(input), ...etcdFlags(input)]
}

function serverFlags({ cluster: { spec } }: ClusterInput): readonly string[] {
  return [
    `--config=${PATHS.config}/${KEYS.nodeConfig}`,
    `--data-dir=${PATHS.data}`,
    `--host=${EVERY_ADDRESS}`,
    `--api-port=${PORTS.api}`,
    `--health-host=${EVERY_ADDRESS}`,
    `--health-port=${PORTS.health}`,
    '--insecure',
    `--log-level=${spec.logLevel.toLowerCase()}`,
    ...(spec.secretStoreRef === undefined ? [] : [`--secrets-dir=${PATHS.secrets}`]),
  ]
}

function memberFlags({ cluster }: ClusterInput): readonly string[] {
  const { nodesService } = objectNames(cluster.name)
  const host = `$(POD_NAME).${nodesService}.${cluster.namespace}.svc`
  return [
    `--cluster=${keyName(cluster)}`,
    '--node-name=$(POD_NAME)',
    `--advertise-url=http://${host}:${PORTS.api}`,
    `--peer-host=${EVERY_ADDRESS}`,
    `--peer-port=${PORTS.peers}`,
    `--cluster-secret-file=${PATHS.clusterSecret}/${KEYS.clusterSecret}`,
    `--accepted-secret-files=${PATHS.clusterSecret}/${KEYS.acceptedSecret}`,
  ]
}

function etcdFlags(input: ClusterInput): readonly string[] {
  const { etcd } = input.cluster.spec
  const hasOwn = etcd?.mode !== 'External'
  const hasAuthority = hasOwn || etcd.tlsSecretRef !== undefined
  const hasCertificate = hasOwn || (hasAuthority && input.decided.hasEtcdCertificate)
  return [
    `--etcd=${etcdEndpoints(input).join(',')}`,
    ...(hasAuthority ? [`--etcd-ca=${PATHS.etcd}/${ETCD_FILES.authority}`] : []),
    ...(hasCertificate
      ? [
          `--etcd-cert=${PATHS.etcd}/${ETCD_FILES.certificate}`,
          `--etcd-key=${PATHS.etcd}/${ETCD_FILES.key}`,
        ]
      : []),
    ...(etcd?.credentialsSecretRef === undefined
      ? []
      : [`--etcd-password-file=${PATHS.etcdCredentials}/password`]),
  ]
}

/**
 * How many members of an own etcd nodes are told of, those with the lowest ordinals: no more than needed, so that nodes do not
 * restart when it gets two members more.
 */
export function toldMembers({ cluster: { spec } }: ClusterInput): number {
  return Math.min(spec.etcd?.replicas ?? ETCD_MEMBERS, TOLD_MAX)
}

/** Where the members of etcd answer clients. */
export function etcdEndpoints(input: ClusterInput): readonly string[] {
  const { cluster } = input
  const { etcd } = cluster.spec
  if (etcd?.mode === 'External') return etcd.endpoints ?? []
  const pods = etcdPods(cluster.name, toldMembers(input))
  return pods.map((pod) => `https://${etcdHost(cluster, pod)}:${PORTS.etcdClients}`)
}
