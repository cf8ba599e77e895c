import type { ReplicationTiming } from '../../../node/replication/core/timing.ts'
import { plantCopy, type Defect } from './planted-copy.ts'
import { OUR_MODULES, type ReplicationModules } from './replication-modules.ts'

const CORE = 'node/replication/core'

/** A copy of the core with a defect in it. Fails when the text is not there once. */
export async function plantDefect(
  defect: Defect,
  timing: Partial<ReplicationTiming> = {},
): Promise<ReplicationModules> {
  const load = plantCopy({ copied: [CORE], linked: ['lib'] }, defect)
  const { LogIndex } = await load<ReplicationModules>(`${CORE}/log-index.ts`)
  const { ReplicaCore } = await load<ReplicationModules>(`${CORE}/replica-core.ts`)
  const { changedConfiguration } = await load<ReplicationModules>(`${CORE}/configuration.ts`)
  const { fitLeaders } = await load<ReplicationModules>(`${CORE}/fit-leaders.ts`)
  return {
    LogIndex,
    ReplicaCore,
    changedConfiguration,
    fitLeaders,
    timing: { ...OUR_MODULES.timing, ...timing },
  }
}
