// `quarry cluster recover`: the control plane was restored from a backup, and the nodes wait.

import { systemClock } from '../lib/clock.ts'
import { recoverCluster, type Recovery } from './cluster/recovery/recover-cluster.ts'
import { readEtcdFiles, type ClusterNodeConfig } from './cluster-config.ts'
import { openEtcdCoordination } from './coordination/etcd/open-etcd-coordination.ts'
import { CONTROLLER_CATALOG } from './coordinator/cluster/controller-catalog.ts'

/** Recovers the cluster of this configuration; see `recoverCluster`. */
export async function recoverControlPlane(
  config: ClusterNodeConfig,
  without: readonly string[],
): Promise<Recovery> {
  const { etcdTls, etcdUser } = await readEtcdFiles(config)
  await using coordination = await openEtcdCoordination({
    endpoints: config.etcd,
    cluster: config.cluster,
    owner: 'recovery',
    clock: systemClock,
    random: Math.random,
    ...(etcdTls && { tls: etcdTls }),
    ...(etcdUser && { user: etcdUser }),
  })
  const { shardPrefix } = CONTROLLER_CATALOG
  return await recoverCluster({ coordination, shardPrefix, without })
}
