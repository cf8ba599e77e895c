import { changedConfiguration } from '../../../node/replication/core/configuration.ts'
import { fitLeaders } from '../../../node/replication/core/fit-leaders.ts'
import { LogIndex } from '../../../node/replication/core/log-index.ts'
import { ReplicaCore } from '../../../node/replication/core/replica-core.ts'
import {
  REPLICATION_TIMING,
  type ReplicationTiming,
} from '../../../node/replication/core/timing.ts'

/** The code under simulation: ours, or a copy with a defect planted in it. */
export interface ReplicationModules {
  readonly LogIndex: typeof LogIndex
  readonly ReplicaCore: typeof ReplicaCore
  readonly changedConfiguration: typeof changedConfiguration
  readonly fitLeaders: typeof fitLeaders
  readonly timing: ReplicationTiming
}

export const OUR_MODULES: ReplicationModules = {
  LogIndex,
  ReplicaCore,
  changedConfiguration,
  fitLeaders,
  timing: REPLICATION_TIMING,
}
