import { ServiceError } from '../../lib/errors.ts'
import { TIMESTAMP_ZERO, timestampOf } from '../clock/hybrid-clock.ts'
import type { Timestamp, TimestampBound } from '../clock/hybrid-clock.ts'
import type { Coordination, CoordinationEntry } from './coordination.ts'

/** Before nodes had bounds of their own, there was one node with one bound. */
const COMMON_KEY = '/clock/bound'

/**
 * Keeps the bound of one node's HybridClock in the coordination store, as decimal text.
 *
 * - What `save` has answered never becomes less, except by a `save` of this very object: another writer
 *   of the same key makes its condition fail, and then the greater of both bounds stays.
 * - `load` takes over the bound that all nodes had in common, and the first `save` removes that.
 */
export class StoredTimestampBound implements TimestampBound {
  readonly #coordination: Coordination
  readonly #key: string
  /** The revision of the entry that this object has read or written; 0 for no entry. */
  #modRevision = 0
  /** The revision of the bound that all nodes shared, until it is removed; 0 for no entry. */
  #commonRevision = 0

  /** `nodeId` tells the data directory from every other one. */
  constructor(coordination: Coordination, nodeId: string) {
    this.#coordination = coordination
    this.#key = `${COMMON_KEY}/${nodeId}`
  }

  async load(): Promise<Timestamp> {
    const own = await this.#coordination.get(this.#key)
    const common = await this.#coordination.get(COMMON_KEY)
    this.#modRevision = own?.modRevision ?? 0
    this.#commonRevision = common?.modRevision ?? 0
    return greater(boundOf(own), boundOf(common))
  }

  async save(bound: Timestamp): Promise<void> {
    let wanted = bound
    for (;;) {
      const outcome = await this.#coordination.commit({
        when: [{ key: this.#key, modRevision: this.#modRevision }],
        changes: [
          { type: 'put', key: this.#key, value: Buffer.from(`${wanted}`) },
          ...(this.#commonRevision === 0 ? [] : [{ type: 'delete', key: COMMON_KEY } as const]),
        ],
      })
      if (outcome.kind === 'committed') {
        this.#modRevision = outcome.revision
        this.#commonRevision = 0
        return
      }
      // Somebody else wrote, or an own write whose answer was lost.
      const found = outcome.entries.find(({ key }) => key === this.#key)
      this.#modRevision = found?.modRevision ?? 0
      wanted = greater(wanted, boundOf(found))
    }
  }
}

function boundOf(entry: CoordinationEntry | undefined): Timestamp {
  if (entry === undefined) return TIMESTAMP_ZERO
  const text = entry.value.toString()
  if (/^\d{1,20}$/.test(text)) return timestampOf(BigInt(text))
  throw new ServiceError('CORRUPTION', `${entry.key} holds no timestamp: "${text}"`)
}

function greater(a: Timestamp, b: Timestamp): Timestamp {
  return a > b ? a : b
}
