import { CLOCKS } from './clocks.ts'
import { DISKS } from './disks.ts'
import { ETCD_BACK } from './etcd-back.ts'
import { ETCD_FAULTS } from './etcd-faults.ts'
import { KILLS } from './kills.ts'
import { LINKS } from './links.ts'
import { PARTITIONS } from './partitions.ts'
import { PAUSES } from './pauses.ts'
import { RESTARTS } from './restarts.ts'
import type { Scenario } from './scenario.ts'

/** The fault table; docs/lab/faults.md says what each row shows. */
export const SCENARIOS: readonly Scenario[] = [
  ...KILLS,
  ...PAUSES,
  ...PARTITIONS,
  ...ETCD_FAULTS,
  ...ETCD_BACK,
  ...LINKS,
  ...CLOCKS,
  ...DISKS,
  ...RESTARTS,
]
