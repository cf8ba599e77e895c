import { ServiceError } from '../../lib/errors.ts'
import { TIMESTAMP_ZERO, timestampOf } from '../clock/hybrid-clock.ts'
import type { Timestamp, TimestampBound } from '../clock/hybrid-clock.ts'
import type { Coordination } from './coordination.ts'

/** Stores the bound of a HybridClock under one key of the coordination store, as decimal text. */
export class StoredTimestampBound implements TimestampBound {
  readonly #coordination: Coordination
  readonly #key: string

  constructor(coordination: Coordination, key: string) {
    this.#coordination = coordination
    this.#key = key
  }

  async load(): Promise<Timestamp> {
    const entry = await this.#coordination.get(this.#key)
    if (entry === undefined) return TIMESTAMP_ZERO
    const text = entry.value.toString()
    if (!/^\d{1,20}$/.test(text)) {
      throw new ServiceError(
        'CORRUPTION',
        `the clock bound at ${this.#key} is not a timestamp: "${text}"; restore a backup`,
      )
    }
    return timestampOf(BigInt(text))
  }

  async save(bound: Timestamp): Promise<void> {
    const value = Buffer.from(`${bound}`)
    await this.#coordination.commit({ when: [], changes: [{ type: 'put', key: this.#key, value }] })
  }
}
