// The command line of a member of etcd. The flags are those of versions 3.4 to 3.6.
//
// Which members there are, and whether they form a cluster or join one, stands in a ConfigMap from which the container
// gets environment variables: the image has no shell that could decide, and a change there changes no template. Etcd
// reads both only while its data directory is empty.

import type { ClusterInput } from '../parts/cluster-input.ts'
import { ETCD_PEER_NAME, etcdHost, PORTS } from '../parts/names.ts'
import { quantityBytes } from '../parts/quantity.ts'

/** Where a member finds what it needs. */
export const ETCD_PATHS = {
  volume: '/var/lib/etcd',
  /** Below the root of the volume: etcd wants a directory that only it may read. */
  data: '/var/lib/etcd/data',
  certificates: '/etc/etcd/certificates',
} as const

const MIB = 1024 * 1024
const GIB = 1024 * MIB
/** Etcd's own advice: more than this takes long to start with. */
const QUOTA_BYTES_MAX = 8 * GIB
const QUOTA_BYTES_MIN = 64 * MIB
/** The other half of the volume is for its log, snapshots and a defragmentation. */
const QUOTA_SHARE = 0.5

export function etcdCommand(input: ClusterInput): readonly string[] {
  const { cluster } = input
  const host = etcdHost(cluster, '$(POD_NAME)')
  return [
    '--name=$(POD_NAME)',
    `--data-dir=${ETCD_PATHS.data}`,
    `--listen-client-urls=https://0.0.0.0:${PORTS.etcdClients}`,
    `--advertise-client-urls=https://${host}:${PORTS.etcdClients}`,
    `--listen-peer-urls=https://0.0.0.0:${PORTS.etcdPeers}`,
    `--initial-advertise-peer-urls=https://${host}:${PORTS.etcdPeers}`,
    `--listen-metrics-urls=http://0.0.0.0:${PORTS.etcdMetrics}`,
    `--initial-cluster-token=${cluster.uid}`,
    '--strict-reconfig-check=true',
    '--auto-compaction-mode=periodic',
    '--auto-compaction-retention=1h',
    `--quota-backend-bytes=${etcdQuotaBytes(input)}`,
    ...certificateFlags(),
  ]
}

function certificateFlags(): readonly string[] {
  return [
    '--client-cert-auth=true',
    `--trusted-ca-file=${file('ca.crt')}`,
    `--cert-file=${file('server.crt')}`,
    `--key-file=${file('server.key')}`,
    '--peer-client-cert-auth=true',
    `--peer-trusted-ca-file=${file('ca.crt')}`,
    `--peer-cert-file=${file('peer.crt')}`,
    `--peer-key-file=${file('peer.key')}`,
    // The same authority signs the certificates of clients.
    `--peer-cert-allowed-cn=${ETCD_PEER_NAME}`,
  ]
}

/** With a larger database etcd takes no writes. */
export function etcdQuotaBytes({ decided }: ClusterInput): number {
  const bytes = quantityBytes(decided.etcd?.claimSize ?? '0')
  return Math.min(QUOTA_BYTES_MAX, Math.max(QUOTA_BYTES_MIN, Math.floor(bytes * QUOTA_SHARE)))
}

function file(name: string): string {
  return `${ETCD_PATHS.certificates}/${name}`
}
