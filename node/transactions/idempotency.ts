// One effect for one Idempotency-Key, across crashes (INV-T12): the answer is a document of a table
// of our own, written in the same transaction as the effect, and expires after an hour of hybrid time.
//
// Invariants:
//   I1  While the answer is kept, the same key and request get it, whatever has become of tables and
//       schemas since: it is looked up before anything of the request is checked against them.
//   I2  Requests of one key follow each other, so that none is refused because of its own duplicate.

import { createHash } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import { TIMESTAMP_ZERO } from '../clock/hybrid-clock.ts'
import { jsonOf } from '../shard/format/document-record.ts'
import type { OpenTable } from '../catalog/tables/open-table.ts'
import type { TableAdmin } from '../catalog/admin/table-admin.ts'
import type { TableRegistry } from '../catalog/tables/table-registry.ts'
import { unlessCancelled } from './cancellation.ts'
import { ContentionQueue } from './contention-queue.ts'
import type { PartCollector } from './transaction-part.ts'
import type { RunOutcome, TransactionConflict } from './run-outcome.ts'
import { CONTENTION_DEADLINE_MS } from './transaction-runner.ts'

export const IDEMPOTENCY_TABLE = '_idempotency'
/** Documents begin with a hexadecimal digit of their key's hash: 16 shards of about equal load. */
const SPLIT_KEYS = '123456789abcdef'.split('')
const RETENTION = '1h'
const DUPLICATE_WAIT_MS = 10
const DUPLICATE_ATTEMPTS_MAX = 1000

/** A write that carries an Idempotency-Key, in the steps that `once` calls. */
export interface IdempotencyRequest<Answer> {
  readonly key: string
  /** Tells requests apart, so that a key used for another request is refused. */
  readonly digest: string
  /** Checks the request and sorts it by shards; not called when the answer is known. */
  readonly collect: () => PartCollector | Promise<PartCollector>
  /** The answer of a commit. It is known before the run, because it counts the request's entries. */
  readonly answer: Answer
  readonly run: (collector: PartCollector) => Promise<RunOutcome>
  /** The answer of a conflict, when nothing was written. A retry gets the same answer. */
  readonly answerOf: (conflict: TransactionConflict) => Answer
  readonly signal?: AbortSignal | undefined
}

/** The document of a key. Equal digests mean requests of one kind, hence answers of one shape. */
interface StoredAnswer<Answer> {
  readonly digest: string
  readonly answer: Answer
}

/** The table and the key of the document that holds a stored answer. */
interface AnswerPlace {
  readonly table: OpenTable
  readonly key: Buffer
}

/** `admin` creates the table of answers at its first use, `registry` finds it. */
export interface IdempotencyOptions {
  readonly clock: Clock
  readonly admin: TableAdmin
  readonly registry: TableRegistry
}

/** Runs each request with an Idempotency-Key once and remembers its answer for an hour. */
export class Idempotency {
  readonly #with: IdempotencyOptions
  readonly #queue: ContentionQueue
  #replays = 0

  constructor(options: IdempotencyOptions) {
    this.#with = options
    this.#queue = new ContentionQueue(options.clock)
  }

  /** Requests that got an earlier answer. */
  get replays(): number {
    return this.#replays
  }

  /**
   * Runs the request once, or answers what it answered the first time. Throws IDEMPOTENCY_MISMATCH
   * when the key was used for a different request, and CANCELLED when the signal aborts first.
   */
  once<Answer>(request: IdempotencyRequest<Answer>): Promise<Answer> {
    const { key, signal } = request
    return unlessCancelled(signal, async () => {
      const deadlineMs = this.#with.clock.monotonicMs() + CONTENTION_DEADLINE_MS
      const claim = { name: key, access: 'alone' } as const
      const turn = await this.#queue.enter([claim], { deadlineMs, signal })
      if (turn.kind === 'late') throw keyInUse()
      using scope = new DisposableStack()
      scope.use(turn)
      return await this.#alone(request)
    })
  }

  async #alone<Answer>(request: IdempotencyRequest<Answer>): Promise<Answer> {
    const { digest, answer, signal } = request
    const place = await this.#placeOf(request.key)
    let collector: PartCollector | undefined
    for (let attempt = 0; attempt < DUPLICATE_ATTEMPTS_MAX; attempt++) {
      const text = await storedText(place)
      if (text !== undefined) {
        const earlier: StoredAnswer<Answer> = JSON.parse(text)
        if (earlier.digest !== digest) throw mismatch()
        this.#replays += 1
        return earlier.answer
      }
      collector ??= await collectWith(place, request)
      const outcome = await request.run(collector)
      if (outcome.kind === 'committed') return answer
      if (outcome.table !== IDEMPOTENCY_TABLE) {
        await remember(place, { digest, answer: request.answerOf(outcome) })
        continue // and answer the stored answer, of this request or of an earlier one
      }
      // The same request is on its way at another node.
      await this.#with.clock.sleep(DUPLICATE_WAIT_MS, signal)
    }
    throw keyInUse()
  }

  async #placeOf(key: string): Promise<AnswerPlace> {
    const table = await this.#table()
    // Tables of one shard were made before the keys were divided, and hold them as they are.
    if (table.shards.length === 1) return { table, key: Buffer.from(key) }
    const digit = createHash('sha256').update(key).digest('hex').charAt(0)
    return { table, key: Buffer.from(digit + key) }
  }

  async #table(): Promise<OpenTable> {
    const { registry, admin } = this.#with
    const known = registry.find(IDEMPOTENCY_TABLE)
    if (known !== undefined) return known
    const request = { split_keys: SPLIT_KEYS, schema: { ttl_duration: RETENTION } }
    try {
      return await admin.createUnchecked(IDEMPOTENCY_TABLE, request)
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

/** The request's parts, and its answer as one write more. */
async function collectWith<Answer>(
  { table, key }: AnswerPlace,
  { collect, digest, answer }: IdempotencyRequest<Answer>,
): Promise<PartCollector> {
  const collector = await collect()
  const json = Buffer.from(JSON.stringify({ digest, answer }))
  collector.addCheck(table, key, TIMESTAMP_ZERO)
  collector.addOp(table, { kind: 'put', key, ...table.rules.check(key, json) })
  return collector
}

/** Keeps an answer without an effect, unless there is one already. */
async function remember<Answer>(
  { table, key }: AnswerPlace,
  stored: StoredAnswer<Answer>,
): Promise<void> {
  const json = Buffer.from(JSON.stringify(stored))
  await table.shardOf(key).write({
    checks: [{ key, version: TIMESTAMP_ZERO }],
    ops: [{ kind: 'put', key, ...table.rules.check(key, json) }],
    ttl: table.ttl,
  })
}

async function storedText({ table, key }: AnswerPlace): Promise<string | undefined> {
  const record = await table.shardOf(key).read(key)
  return record === undefined ? undefined : jsonOf(record).toString()
}

function keyInUse(): ServiceError {
  return new ServiceError(
    'CONFLICT',
    'another request with this Idempotency-Key has not ended; try again',
  )
}

function mismatch(): ServiceError {
  return new ServiceError(
    'IDEMPOTENCY_MISMATCH',
    'this Idempotency-Key was used for a different request within the last hour; use a new one',
  )
}
