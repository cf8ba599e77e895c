import type { Clock } from '../../lib/clock.ts'
import type { Env } from '../../lib/env.ts'
import type { Random } from '../../lib/random.ts'
import type { CliSettings } from '../config.ts'
import type { Terminal } from './terminal.ts'

/** All that a command may touch of the world; built once, in main.ts. */
export interface CliContext {
  readonly terminal: Terminal
  readonly settings: CliSettings
  /** Handed on to the node's own configuration parser. */
  readonly env: Env
  readonly clock: Clock
  readonly random: Random
  /** Aborts on the first SIGINT or SIGTERM, for commands that close in an orderly way. */
  stopSignal(): AbortSignal
}
