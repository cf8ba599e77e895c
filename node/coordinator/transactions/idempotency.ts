// One effect for one Idempotency-Key, across crashes (INV-T12): the answer is a document of a table
// of our own, written in the same transaction as the effect, and expires after an hour.

import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { TIMESTAMP_ZERO } from '../../clock/hybrid-clock.ts'
import { jsonOf } from '../../shard/format/document-record.ts'
import type { OpenTable } from '../tables/open-table.ts'
import type { TableAdmin } from '../tables/table-admin.ts'
import type { TableRegistry } from '../tables/table-registry.ts'
import type { PartCollector } from './transaction-part.ts'
import type { RunOutcome, TransactionConflict } from './transaction-runner.ts'

export const IDEMPOTENCY_TABLE = '_idempotency'
const RETENTION = '1h'
const DUPLICATE_WAIT_MS = 10
const DUPLICATE_ATTEMPTS_MAX = 1000

export interface IdempotencyRequest<Answer> {
  readonly key: string
  /** Tells requests apart, so that a key used for another request is refused. */
  readonly digest: string
  readonly collector: PartCollector
  /** What the request answers when it takes effect; known before, because counts are of entries. */
  readonly answer: Answer
  readonly run: () => Promise<RunOutcome>
  /** What it answers when it is in conflict and takes no effect: a retry gets the same. */
  readonly answerOf: (conflict: TransactionConflict) => Answer
}

/** The document of a key. Equal digests mean requests of one kind, hence answers of one shape. */
interface StoredAnswer<Answer> {
  readonly digest: string
  readonly answer: Answer
}

export interface IdempotencyOptions {
  readonly clock: Clock
  readonly admin: TableAdmin
  readonly registry: TableRegistry
}

export class Idempotency {
  readonly #with: IdempotencyOptions

  constructor(options: IdempotencyOptions) {
    this.#with = options
  }

  /**
   * Runs the request once, or answers what it answered the first time. Throws IDEMPOTENCY_MISMATCH
   * when the key was used for a different request.
   */
  async once<Answer>(request: IdempotencyRequest<Answer>): Promise<Answer> {
    const { digest, collector, answer } = request
    const table = await this.#table()
    const key = Buffer.from(request.key)
    collector.addCheck(table, key, TIMESTAMP_ZERO)
    const json = Buffer.from(JSON.stringify({ digest, answer }))
    collector.addOp(table, { kind: 'put', key, ...table.rules.check(key, json) })
    for (let attempt = 0; attempt < DUPLICATE_ATTEMPTS_MAX; attempt++) {
      const text = await this.#storedText(table, key)
      if (text !== undefined) {
        const earlier: StoredAnswer<Answer> = JSON.parse(text)
        if (earlier.digest !== digest) throw mismatch()
        return earlier.answer
      }
      const outcome = await request.run()
      if (outcome.kind === 'committed') return answer
      if (outcome.table !== IDEMPOTENCY_TABLE) {
        await this.#remember(table, { key, digest, answer: request.answerOf(outcome) })
        continue // and answer what is remembered now, be it this or an earlier answer
      }
      await this.#with.clock.sleep(DUPLICATE_WAIT_MS) // the same request is on its way elsewhere
    }
    throw new ServiceError('CONFLICT', 'the same Idempotency-Key is in use; try again')
  }

  /** Keeps an answer without an effect, unless there is one already. */
  async #remember<Answer>(
    table: OpenTable,
    { key, ...stored }: StoredAnswer<Answer> & { readonly key: Buffer },
  ): Promise<void> {
    const json = Buffer.from(JSON.stringify(stored))
    await table.shardOf(key).write({
      checks: [{ key, version: TIMESTAMP_ZERO }],
      ops: [{ kind: 'put', key, ...table.rules.check(key, json) }],
      ttl: table.ttl,
    })
  }

  async #storedText(table: OpenTable, key: Buffer): Promise<string | undefined> {
    const record = await table.shardOf(key).read(key)
    return record === undefined ? undefined : jsonOf(record).toString()
  }

  async #table(): Promise<OpenTable> {
    const { registry, admin } = this.#with
    const known = registry.find(IDEMPOTENCY_TABLE)
    if (known !== undefined) return known
    try {
      return await admin.createUnchecked(IDEMPOTENCY_TABLE, { schema: { ttl_duration: RETENTION } })
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'ALREADY_EXISTS') throw error
      return this.#createdElsewhere()
    }
  }

  async #createdElsewhere(): Promise<OpenTable> {
    for (let attempt = 0; attempt < DUPLICATE_ATTEMPTS_MAX; attempt++) {
      const table = this.#with.registry.find(IDEMPOTENCY_TABLE)
      if (table !== undefined) return table
      await this.#with.clock.sleep(DUPLICATE_WAIT_MS)
    }
    throw new ServiceError('UNAVAILABLE', 'the idempotency table is being created; try again')
  }
}

function mismatch(): ServiceError {
  return new ServiceError(
    'IDEMPOTENCY_MISMATCH',
    'this Idempotency-Key was used for a different request within the last hour; use a new one',
  )
}
