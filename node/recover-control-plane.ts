// `quarry cluster recover`: the control plane was restored from a backup, and the nodes wait.

import { systemClock } from '../lib/clock.ts'
import { Replaceable } from '../lib/replaceable.ts'
import { recoverCluster, type Recovery } from './cluster/recovery/recover-cluster.ts'
import type { ClusterNodeConfig } from './cluster-config.ts'
import { readEtcdFiles } from './cluster-files.ts'
import {
  openEtcdCoordination,
  type EtcdCredentials,
} from './coordination/etcd/open-etcd-coordination.ts'
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
    credentials: new Replaceable<EtcdCredentials>({ tls: etcdTls, user: etcdUser }),
  })
  const { shardPrefix } = CONTROLLER_CATALOG
  return await recoverCluster({ coordination, shardPrefix, without })
}
