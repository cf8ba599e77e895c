// What may be set from outside for the long random tests; nothing else in test/ reads these.

import { randomInt } from 'node:crypto'
import { EnvReader } from '../../lib/env.ts'
import type { Env } from '../../lib/env.ts'

export interface TestSettings {
  /** Replays a random test; chosen anew when it is not given. Every such test prints it. */
  readonly seed: number
  /** SIGKILLs of the crash test. */
  readonly crashRounds: number
  /** Command sequences of the model-based test. */
  readonly modelRuns: number
  /** Small corpora of the differential test of the text index; its other tests go by it. */
  readonly textCorpora: number
  /** How long a server is kept busy by its soak test. */
  readonly soakSeconds: number
  /** Whether a soak test puts its figures into docs/benchmarks.md. */
  readonly soakUpdates: boolean
  /** Disks after a power failure that the test of the traced store opens. */
  readonly powerImages: number
  /** Root of the sources whose store is traced; others than these only by hand. */
  readonly powerRoot: string
}

export function parseTestSettings(env: Env): TestSettings {
  const read = new EnvReader(env)
  const max = 2 ** 31 - 1
  return read.done({
    seed: read.integer('QUARRY_TEST_SEED', { default: randomInt(max), min: 0, max }),
    crashRounds: read.integer('QUARRY_CRASH_ROUNDS', { default: 30, min: 1, max: 1_000_000 }),
    modelRuns: read.integer('QUARRY_MODEL_RUNS', { default: 50, min: 1, max: 1_000_000 }),
    textCorpora: read.integer('QUARRY_TEXT_CORPORA', { default: 4000, min: 40, max: 10_000_000 }),
    soakSeconds: read.integer('QUARRY_SOAK_SECONDS', { default: 600, min: 10, max: 86_400 }),
    soakUpdates: read.flag('QUARRY_SOAK_UPDATE'),
    powerImages: read.integer('QUARRY_POWER_IMAGES', { default: 400, min: 1, max: 1_000_000 }),
    powerRoot: read.text('QUARRY_POWER_ROOT', '.'),
  })
}
