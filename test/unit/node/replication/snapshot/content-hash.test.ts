import { createHash } from 'node:crypto'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { ManualClock } from '../../../../../lib/clock.ts'
import { parseFieldPath } from '../../../../../node/document/field-path.ts'
import type { JournalEntry } from '../../../../../node/journal/journal-reader.ts'
import { contentHashOf } from '../../../../../node/replication/snapshot/content-hash.ts'
import type { TtlPolicy } from '../../../../../node/schema/document-rules.ts'
import type { WriteOp } from '../../../../../node/shard/command/command.ts'
import { NO_SETTINGS } from '../../../../../node/shard/command/table-settings.ts'
import { LOG_START } from '../../../../../node/shard/format/applied-position.ts'
import {
  EXPIRY_GRACE_MS,
  expireDue,
  retimeDocuments,
} from '../../../../../node/shard/housekeeping/expiry.ts'
import { collectHistory } from '../../../../../node/shard/housekeeping/history-collection.ts'
import { readAppliedPosition } from '../../../../../node/shard/replica-snapshot.ts'
import { replayLog } from '../../../../../node/shard/replay.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { failureOf } from '../../../../support/failure-of.ts'
import { deleteOp, putOp, ShardWorld } from '../../../../support/worlds/shard-world.ts'
import { intervalOfKey } from '../../../../support/worlds/routes.ts'
import { openTestJournal } from '../../../../support/worlds/test-journal.ts'
import { memoryStore, storeOps } from '../../../../support/worlds/snapshot-world.ts'

const MIB = 1024 * 1024
const NAMES = ['a', 'b'] as const
const RUNS = Number(process.env['QUARRY_CONTENT_RUNS'] ?? 25)
const { signal } = new AbortController()

const KEYS = ['', '\0', 'x', 'x\0\u0001', 'y']
const TTL: TtlPolicy = {
  generation: 1,
  field: parseFieldPath('_timestamp', 'ttl_field'),
  durationMs: 60_000,
}

const OPERATION = fc.record({
  key: fc.constantFrom(...KEYS),
  kind: fc.constantFrom('put' as const, 'expiring' as const, 'long' as const, 'delete' as const),
})
const STEP = fc.oneof(
  { weight: 6, arbitrary: fc.record({ ops: fc.array(OPERATION, { minLength: 1, maxLength: 4 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      ops: fc.array(OPERATION, { minLength: 1, maxLength: 3 }),
      end: fc.constantFrom('commit' as const, 'abort' as const, 'open' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ many: fc.integer({ min: 1001, max: 1500 }) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      work: fc.constantFrom('expire' as const, 'collect' as const, 'retime' as const),
      laterMs: fc.nat(120_000),
    }),
  },
)
type Step = typeof STEP extends fc.Arbitrary<infer Value> ? Value : never

/** Shards that lead, with a journal that keeps everything. */
class Leaders {
  readonly clock = new ManualClock()
  readonly world: ShardWorld
  readonly journal: Awaited<ReturnType<typeof openTestJournal>>
  #value = 0

  private constructor(world: ShardWorld, journal: Leaders['journal'], clock: ManualClock) {
    this.world = world
    this.journal = journal
    this.clock = clock
  }

  static async open(): Promise<Leaders> {
    const clock = new ManualClock()
    const journal = await openTestJournal({ clock, segmentBytes: 16 * MIB, keptBytes: 900 * MIB })
    const world = await ShardWorld.open(NAMES, { clock, journal, ttl: TTL })
    return new Leaders(world, journal, clock)
  }

  async take(step: Step): Promise<void> {
    if ('many' in step) return this.#writeMany(step.many)
    if ('work' in step) return this.#housekeep(step.work, step.laterMs)
    const byKey = new Map(step.ops.map((one) => [one.key, one]))
    const ops = byKey
      .values()
      .map(({ key, kind }) => this.#opOf(`key ${key}`, kind))
      .toArray()
    await ('end' in step ? this.#transaction(ops, step.end) : this.#write(ops))
  }

  #writeMany(count: number): Promise<void> {
    this.#value += 1
    return this.#write(Array.from({ length: count }, (_, at) => putOp(`${at}`, this.#value)))
  }

  #opOf(key: string, kind: 'put' | 'expiring' | 'long' | 'delete'): WriteOp {
    this.#value += 1
    const put = putOp(key, kind === 'long' ? 'x'.repeat(300_000) : this.#value)
    if (kind === 'delete') return deleteOp(key)
    if (kind !== 'expiring' || put.kind !== 'put') return put
    return { ...put, expiry: { kind: 'at', ms: this.clock.nowMs() + 1000 * this.#value } }
  }

  async #write(ops: readonly WriteOp[]): Promise<void> {
    await this.world.shard('a').write({ checks: [], ops, ttl: TTL })
  }

  async #transaction(ops: readonly WriteOp[], end: 'commit' | 'abort' | 'open'): Promise<void> {
    const { world } = this
    const transactionId = world.newTransactionId()
    const key = Buffer.from('key x')
    const anchor = { tableId: 'a', key }
    const participants = NAMES.map((tableId) => intervalOfKey({ tableId, key }))
    let commitAtLeast = world.hybridClock.now()
    for (const name of NAMES) {
      const begin = name === 'a' ? { participants } : undefined
      const command = { transactionId, anchor, begin, checks: [], ops, ttl: TTL }
      const outcome = await world.shard(name).prepare(command)
      if (outcome.kind !== 'prepared') return this.#abort(transactionId)
      if (outcome.commitAtLeast > commitAtLeast) ({ commitAtLeast } = outcome)
    }
    if (end === 'open') return
    if (end === 'abort') return this.#abort(transactionId)
    const command = { transactionId, anchor: key, decision: 'commit', commitAtLeast } as const
    const decision = await world.shard('a').decide(command)
    for (const name of NAMES) await world.shard(name).resolve({ transactionId, decision })
    await world.shard('a').forget(transactionId, key)
  }

  async #abort(transactionId: ReturnType<ShardWorld['newTransactionId']>): Promise<void> {
    const decision = { state: 'aborted' } as const
    for (const name of NAMES) await this.world.shard(name).resolve({ transactionId, decision })
  }

  async #housekeep(work: 'expire' | 'collect' | 'retime', laterMs: number): Promise<void> {
    this.clock.advance(laterMs)
    const { led } = this.world.shard('a')
    const nowMs = this.clock.nowMs()
    if (work === 'expire') await expireDue(led, nowMs - EXPIRY_GRACE_MS, signal)
    if (work === 'collect') await collectHistory(led, this.world.hybridClock.now())
    if (work === 'retime') {
      const generation = 2 + (this.#value += 1)
      await led.setSettings({ ...NO_SETTINGS, tableId: 'a', ttl: { ...TTL, generation } })
      await retimeDocuments(led, signal)
    }
  }

  async entries(name: string): Promise<readonly JournalEntry[]> {
    await this.world.shard(name).settled()
    return (await Array.fromAsync(this.journal.entries(this.world.shard(name).id, 0))).flat()
  }

  async close(): Promise<void> {
    await this.world[Symbol.asyncDispose]()
  }
}

/** The entries in pages of these sizes, over and over. */
async function* pagesOf(
  entries: readonly JournalEntry[],
  sizes: readonly number[],
): AsyncGenerator<readonly JournalEntry[]> {
  for (let at = 0, turn = 0; at < entries.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    yield entries.slice(at, at + size)
    at += size
  }
}

/** Applies the entries, and stops and begins again in the middle as often as there are sizes. */
async function replayed(
  entries: readonly JournalEntry[],
  sizes: readonly number[],
): Promise<MemoryKvStore> {
  const store = new MemoryKvStore()
  const half = Math.floor(entries.length / 2)
  const { position } = await replayLog(store, LOG_START, pagesOf(entries.slice(0, half), sizes))
  await replayLog(store, position, pagesOf(entries.slice(half), sizes.toReversed()))
  return store
}

async function hexOf(store: Parameters<typeof contentHashOf>[0]): Promise<string> {
  return (await contentHashOf(store)).hash.toString('hex')
}

describe('the content hash of a store', () => {
  it('is the same for all replicas that have applied the same entries (INV-R7)', async () => {
    const SIZES = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(STEP, { minLength: 1, maxLength: 25 }),
        SIZES,
        SIZES,
        async (steps, ones, others) => {
          const leaders = await Leaders.open()
          try {
            for (const step of steps) await leaders.take(step)
            for (const name of NAMES) {
              const entries = await leaders.entries(name)
              const leader = leaders.world.shard(name).store
              const [one, other] = [await replayed(entries, ones), await replayed(entries, others)]

              expect(readAppliedPosition(one)).to.deep.equal(readAppliedPosition(leader))
              expect(await hexOf(one)).to.equal(await hexOf(leader))
              expect(await hexOf(other)).to.equal(await hexOf(leader))
            }
          } finally {
            await leaders.close()
          }
        },
      ),
      { numRuns: RUNS },
    )
  })

  it('has a position after every write to the store, or a part of an entry that says so', async () => {
    const leaders = await Leaders.open()
    const kinds = ['long', 'long', 'long', 'long', 'long', 'delete'] as const
    const long = kinds.map((kind, at) => ({ key: `${at}`, kind }))
    for (const step of [{ ops: long }, { many: 2500 }, { ops: long }, { many: 2500 }]) {
      await leaders.take(step)
    }
    const entries = await leaders.entries('a')
    const byPosition = await Promise.all(
      Array.from({ length: entries.length + 1 }, async (_, end) =>
        hexOf(await replayed(entries.slice(0, end), [1])),
      ),
    )
    const store = new MemoryKvStore()
    const seen = { whole: 0, parts: 0 }
    const write = store.write.bind(store)
    store.write = async (ops, options) => {
      await write(ops, options)
      const position = readAppliedPosition(store)
      if (position === undefined) seen.parts += 1
      else {
        seen.whole += 1
        expect(await hexOf(store)).to.equal(byPosition[position.sequence])
      }
    }

    await replayLog(store, LOG_START, pagesOf(entries, [1]))

    expect(seen.whole).to.equal(entries.length)
    expect(seen.parts).to.be.greaterThan(5)
    await leaders.close()
  })

  it('differs after one entry more', async () => {
    const leaders = await Leaders.open()
    await leaders.take({ ops: [{ key: 'x', kind: 'put' }] })
    await leaders.world.shard('a').settled()
    const before = await hexOf(leaders.world.shard('a').store)
    await leaders.take({ ops: [{ key: 'x', kind: 'put' }] })
    await leaders.world.shard('a').settled()

    expect(await hexOf(leaders.world.shard('a').store)).to.not.equal(before)
    await leaders.close()
  })

  it('is the SHA-256 of lengths, keys and values', async () => {
    const store = await memoryStore([
      { type: 'put', key: Buffer.from('b'), value: Buffer.from('two') },
      { type: 'put', key: Buffer.from('a'), value: Buffer.alloc(0) },
    ])

    const stream = Buffer.from('\0\u0001\0\0\0\0a\0\u0001\0\0\0\u0003btwo')
    const hash = createHash('sha256').update(stream).digest()
    expect(await contentHashOf(store)).to.deep.equal({ hash, entries: 2 })
  })

  it('gives others a turn after half a MiB, whatever the size of an entry', async () => {
    const store = await memoryStore(storeOps(3, 3 * MIB))
    let turns = 0
    let isDone = false
    const count = (): void => {
      turns += 1
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)

    await contentHashOf(store)
    isDone = true

    expect(turns).to.be.greaterThan(18)
  })

  it('ends when it is not wanted any more', async () => {
    const store = await memoryStore(storeOps(3, 1000))
    const reason = new Error('the shard is closed')

    const failure = await failureOf(contentHashOf(store, () => Promise.reject(reason)))

    expect(failure).to.equal(reason)
  })
})
