// Keeps one index in step with the table's list of fields (table-fields.ts): it tells the index the
// fields of the list, and adds the new fields of the index's documents to the list.

import type { Clock } from '../../../lib/clock.ts'
import { isServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { IndexClient } from '../../index/host/index-client.ts'
import type { TableField } from '../../schema/table-field.ts'
import type { IndexPlace } from './build-notices.ts'
import type { TableFields } from './table-fields.ts'

const RETRY_MS = 250
const RETRY_MS_MAX = 30_000

/** The index that learns fields, and the list that it learns from. */
export interface LearntFieldsOptions {
  readonly fields: TableFields
  readonly index: Pick<IndexClient, 'learn'>
  readonly place: IndexPlace
  readonly clock: Clock
  readonly log: Log
  /** Ends every wait for the list. */
  readonly signal: AbortSignal
}

/** Tells one index each field of the list once, in the order of the list. */
export class LearntFields {
  readonly #with: LearntFieldsOptions
  /** The number of the list's fields that the index knows. */
  #told = 0
  #telling: Promise<void> | undefined
  /** False between a list that was told and its answer. */
  #isHeard = true

  constructor(options: LearntFieldsOptions) {
    this.#with = options
  }

  /** Resolves when the list is loaded as it was at the call. */
  load(): Promise<void> {
    return this.#with.fields.load()
  }

  /** All known fields, for an index that is opened with them. */
  forOpening(): readonly TableField[] {
    const { known } = this.#with.fields
    this.#told = known.length
    this.#telling = undefined
    this.#isHeard = true
    return known
  }

  /** Whether the index knows all fields of the list, so that `tell` would wait for nothing. */
  get isTold(): boolean {
    return this.#isHeard && this.#with.fields.known.length <= this.#told
  }

  /** Resolves when the index knows all fields of the list. */
  async tell(): Promise<void> {
    const { known } = this.#with.fields
    const from = this.#told
    if (known.length > from) {
      this.#told = known.length
      this.#telling = this.#learn(known.slice(from))
    }
    await this.#telling
  }

  async #learn(fields: readonly TableField[]): Promise<void> {
    const upTo = this.#told
    this.#isHeard = false
    await this.#with.index.learn(fields)
    if (this.#told === upTo) this.#isHeard = true
  }

  /**
   * Adds new fields to the list. While the list is out of reach, the index answers and only falls
   * behind.
   */
  async propose(undecided: readonly TableField[]): Promise<void> {
    const { fields, log, clock, place, signal } = this.#with
    for (let pauseMs = RETRY_MS; ; pauseMs = Math.min(RETRY_MS_MAX, 2 * pauseMs)) {
      try {
        return await fields.propose(undecided)
      } catch (error) {
        if (!isServiceError(error) || signal.aborted) throw error
        log.warn('new fields of documents wait', { ...place, error: error.message })
        await clock.sleep(pauseMs, signal)
      }
    }
  }
}
