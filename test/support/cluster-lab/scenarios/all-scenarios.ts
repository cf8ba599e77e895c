import { ETCD_FAULTS } from './etcd-faults.ts'
import { KILLS } from './kills.ts'
import { PARTITIONS } from './partitions.ts'
import { PAUSES } from './pauses.ts'
import { RESTARTS } from './restarts.ts'
import type { Scenario } from './scenario.ts'

/** The fault table; docs/faults.md says what each row shows. */
export const SCENARIOS: readonly Scenario[] = [
  ...KILLS,
  ...PAUSES,
  ...PARTITIONS,
  ...ETCD_FAULTS,
  ...RESTARTS,
]
