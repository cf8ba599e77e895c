import type { ReplicationTiming } from '../../../node/replication/core/timing.ts'
import { defectiveCopy, type Defect } from './defective-copy.ts'
import { OUR_MODULES, type ReplicationModules } from './replication-modules.ts'

/** A copy of the core with a defect in it. Fails when the text is not there once. */
export async function plantDefect(
  defect: Defect,
  timing: Partial<ReplicationTiming> = {},
): Promise<ReplicationModules> {
  const load = defectiveCopy('node/replication/core', ['lib'], defect)
  const { LogIndex } = await load('log-index.ts')
  const { ReplicaCore } = await load('replica-core.ts')
  const { changedConfiguration } = await load('configuration.ts')
  return {
    LogIndex,
    ReplicaCore,
    changedConfiguration,
    timing: { ...OUR_MODULES.timing, ...timing },
  }
}
