import type { Clock } from '../../lib/clock.ts'
import type { Env } from '../../lib/env.ts'
import type { Random } from '../../lib/random.ts'
import type { CliSettings } from '../config.ts'
import type { Terminal } from './terminal.ts'

/** Everything outside the process that a command may use. main.ts builds it once; tests build others. */
export interface CliContext {
  readonly terminal: Terminal
  readonly settings: CliSettings
  /** The environment, for the configuration parsers of the servers. */
  readonly env: Env
  readonly clock: Clock
  readonly random: Random
  /** A signal that aborts on the first SIGINT or SIGTERM, for commands that close in order. */
  stopSignal(): AbortSignal
  /** Calls `listener` at each SIGHUP, which would end the process otherwise. Returns the removal. */
  onHangup(listener: () => void): () => void
}
