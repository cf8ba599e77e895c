import { messageOf } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { LogId } from '../../journal/journal-format.ts'
import type { InSyncChange, ShardConfiguration } from '../core/configuration.ts'
import type { ReplicaControl } from './replica-surroundings.ts'

/** What the calls of one log work with. */
export interface ControlCallsOptions {
  readonly logId: LogId
  readonly control: ReplicaControl
  readonly log: Log
}

/**
 * Asks the control plane for one log. Failures are logged.
 *
 * Invariants:
 *   CC1  At most one call for a change is under way. So an answer that refuses it is the last word, as
 *        `ReplicaControl` says.
 */
export class ControlCalls {
  readonly #with: ControlCallsOptions
  /** The operations that are being asked for. */
  readonly #asked = new Set<string>()

  constructor(options: ControlCallsOptions) {
    this.#with = options
  }

  /** Undefined when nobody answered, and when the same change is being asked for already. */
  async change(change: InSyncChange): Promise<ShardConfiguration | undefined> {
    const { operation } = change
    if (this.#asked.has(operation)) return undefined
    this.#asked.add(operation)
    try {
      return await this.#with.control.change(change)
    } catch (error) {
      return this.#failed(error)
    } finally {
      this.#asked.delete(operation)
    }
  }

  /** Undefined when nobody answered. */
  async confirm(): Promise<ShardConfiguration | undefined> {
    try {
      return await this.#with.control.confirm()
    } catch (error) {
      return this.#failed(error)
    }
  }

  #failed(error: unknown): undefined {
    const { log, logId } = this.#with
    log.warn('control plane does not answer', { shard: logId, error: messageOf(error) })
    return undefined
  }
}
