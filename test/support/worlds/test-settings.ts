// What may be set from outside for the long random tests; nothing else in test/ reads these.

import { randomInt } from 'node:crypto'
import type { Env } from '../../../lib/env.ts'
import { flag, integer, readOptions, text } from '../../../lib/options.ts'
import type { OptionType } from '../../../lib/options.ts'

export interface TestSettings {
  /** The seed of random tests, which print it. `npm test` sets it to 1; without it each run chooses one. */
  readonly seed: number
  /** SIGKILLs of the crash test. */
  readonly crashRounds: number
  /** The same against three nodes. */
  readonly clusterCrashRounds: number
  /** Command sequences of the model-based test against three nodes. */
  readonly clusterModelRuns: number
  /** Command sequences of the model-based test. */
  readonly modelRuns: number
  /** Small corpora of the differential test of the text index; its other tests go by it. */
  readonly textCorpora: number
  /** How long a server is kept busy by its soak test. */
  readonly soakSeconds: number
  /** Whether a soak test puts its figures into docs/lab/benchmarks.md. */
  readonly soakUpdates: boolean
  /** Disks after a power failure that the test of the traced store opens. */
  readonly powerImages: number
  /** Root of the sources whose store is traced; others than these only by hand. */
  readonly powerRoot: string
}

export function parseTestSettings(env: Env): TestSettings {
  const max = 2 ** 31 - 1
  const table = {
    seed: option('QUARRY_TEST_SEED', integer({ default: randomInt(max), min: 0, max })),
    crashRounds: option('QUARRY_CRASH_ROUNDS', integer({ default: 12, min: 1, max: 1_000_000 })),
    clusterCrashRounds: option(
      'QUARRY_CLUSTER_CRASH_ROUNDS',
      integer({ default: 3, min: 1, max: 1_000_000 }),
    ),
    clusterModelRuns: option(
      'QUARRY_CLUSTER_MODEL_RUNS',
      integer({ default: 4, min: 1, max: 1_000_000 }),
    ),
    modelRuns: option('QUARRY_MODEL_RUNS', integer({ default: 50, min: 1, max: 1_000_000 })),
    textCorpora: option(
      'QUARRY_TEXT_CORPORA',
      integer({ default: 4000, min: 40, max: 10_000_000 }),
    ),
    soakSeconds: option('QUARRY_SOAK_SECONDS', integer({ default: 600, min: 10, max: 86_400 })),
    soakUpdates: option('QUARRY_SOAK_UPDATE', flag()),
    powerImages: option('QUARRY_POWER_IMAGES', integer({ default: 400, min: 1, max: 1_000_000 })),
    powerRoot: option('QUARRY_POWER_ROOT', text('.')),
  }
  return readOptions(table, { env })
}

function option<Value>(variable: string, value: OptionType<Value>) {
  return { variable, value, help: '' }
}
