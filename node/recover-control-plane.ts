// `quarry cluster recover`: the control plane was restored from a backup, and the nodes wait.

import { randomUUID } from 'node:crypto'
import { systemClock } from '../lib/clock.ts'
import { Replaceable } from '../lib/replaceable.ts'
import type { ClusterNodeConfig } from './cluster-config.ts'
import { readEtcdFiles } from './cluster-files.ts'
import {
  openEtcdCoordination,
  type EtcdCredentials,
} from './coordination/etcd/open-etcd-coordination.ts'
import type { RecoveryAnswer } from './steering/cluster-answers.ts'
import { recoverForOperators } from './steering/recover-for-operators.ts'

/** Recovers the cluster of this configuration; see `recoverForOperators`. */
export async function recoverControlPlane(
  config: ClusterNodeConfig,
  without: readonly string[],
): Promise<RecoveryAnswer> {
  const { etcdTls, etcdUser } = await readEtcdFiles(config)
  await using coordination = await openEtcdCoordination({
    endpoints: config.etcd,
    cluster: config.cluster,
    // Of two stores of one owner the second ends the commits of the first, and two may be recovering at once.
    owner: `recovery-${randomUUID()}`,
    clock: systemClock,
    random: Math.random,
    credentials: new Replaceable<EtcdCredentials>({ tls: etcdTls, user: etcdUser }),
  })
  return await recoverForOperators(coordination, { without, clock: systemClock })
}
