import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, messageOf, type ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { SliceClock } from '../../../lib/sliced.ts'
import type { ModelKeys } from '../tables/model-keys.ts'
import type { TableAdmin } from './table-admin.ts'
import type { TableRegistry } from '../tables/table-registry.ts'

/** What keys of the tables of a node are found and written with. */
export interface SealedKeysOptions {
  readonly registry: TableRegistry
  readonly keys: ModelKeys
  readonly admin: Pick<TableAdmin, 'rewrite'>
  readonly clock: Clock
  readonly log: Log
}

/**
 * The keys of models of all tables while the secrets of the node change. With other secrets each key is opened anew, which
 * thousands of tables share among turns.
 */
export class SealedKeys {
  readonly #with: SealedKeysOptions

  constructor(options: SealedKeysOptions) {
    this.#with = options
  }

  /** Names keys in the log that need an operator, now and when other secrets are in use. */
  watch(): void {
    void this.#warn()
    this.#with.keys.onReplaced(() => void this.#warn())
  }

  async #warn(): Promise<void> {
    const { registry, keys, clock, log } = this.#with
    const slice = new SliceClock(clock)
    for (const { tableName: table, record } of registry.tables()) {
      if (slice.isOver) await slice.turn()
      const { plain, none } = keys.of(record.indexes)
      if (plain.length > 0) {
        log.warn('keys of models lie in plain in the catalog', {
          table,
          indexes: [...new Set(plain)],
          remedy: 'the next change of the table seals them; then replace the keys at the provider',
        })
      }
      if (none.length === 0) continue
      log.warn('no secret of this node opens keys of models', {
        table,
        indexes: [...new Set(none)],
        remedy: 'accept the secret again by which they were sealed, or create the indexes again',
      })
    }
  }

  /**
   * Seals keys that lie under another accepted secret under the first one, so that the other one can go. What one table
   * refuses keeps no other waiting; the last refusal is thrown in the end.
   */
  async sealAnew(): Promise<void> {
    const { registry, keys, admin, clock, log } = this.#with
    const slice = new SliceClock(clock)
    let refusal: ServiceError | undefined
    for (const { tableName: table, record } of registry.tables()) {
      if (slice.isOver) await slice.turn()
      const indexes = new Set(keys.of(record.indexes).accepted)
      if (indexes.size === 0) continue
      try {
        await admin.rewrite(table)
        log.info('keys of models sealed anew', { table, indexes: [...indexes] })
      } catch (error) {
        if (!isServiceError(error)) throw error
        if (error.code !== 'NOT_FOUND') refusal = error // else it is being dropped
      }
    }
    if (refusal !== undefined) throw refusal
  }

  /**
   * The indexes, each behind its table, with keys that the secrets of now open and `secrets` do not. Keys under another
   * secret than the first are sealed anew before: this node may be the last that can.
   */
  async lostWith(secrets: readonly Uint8Array[]): Promise<readonly string[]> {
    const { log } = this.#with
    if ((await this.#lostWith(secrets)).length === 0) return []
    try {
      await this.sealAnew()
    } catch (error) {
      if (!isServiceError(error)) throw error
      log.warn('keys of models are not sealed anew', { error: messageOf(error) })
    }
    return this.#lostWith(secrets)
  }

  async #lostWith(secrets: readonly Uint8Array[]): Promise<readonly string[]> {
    const { registry, keys, clock } = this.#with
    const opens = keys.with(secrets)
    const slice = new SliceClock(clock)
    const lost: string[] = []
    for (const { tableName, record } of registry.tables()) {
      if (slice.isOver) await slice.turn()
      const before = new Set(keys.of(record.indexes).none)
      const after = new Set(opens.of(record.indexes).none)
      for (const index of after.difference(before)) lost.push(`${tableName}/${index}`)
    }
    return lost
  }
}
