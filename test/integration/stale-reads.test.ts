// Reads of any replica at its closed time, in histories of two replicated shards by chance: power failures, cuts,
// elections, clocks that differ, and transactions over both shards. What such a read has shown must be what the
// leaders show of that time at the end, when everything is decided.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { ManualClock } from '../../lib/clock.ts'
import { must } from '../../lib/assert.ts'
import { seededRandom, type Random } from '../../lib/random.ts'
import {
  millisOf,
  TIMESTAMP_ZERO,
  timestampAtMs,
  timestampOf,
  type Timestamp,
} from '../../node/clock/hybrid-clock.ts'
import type { ShardAddress } from '../../node/shard/command/command.ts'
import { buildTransactionId } from '../../node/shard/command/transaction-id.ts'
import {
  isDeleted,
  jsonOf,
  versionOf,
  type DocumentRecord,
} from '../../node/shard/format/document-record.ts'
import type { LocalShard } from '../../node/shard/local-shard.ts'
import type { ScanRow } from '../../node/shard/shard.ts'
import { errorOf } from '../support/error-of.ts'
import { ReplicatedWorld, type TestNode } from '../support/worlds/replicated-world.ts'
import { intervalOfKey, routesTo } from '../support/worlds/routes.ts'
import { deleteOp, putOp } from '../support/worlds/shard-world.ts'

const HISTORIES = Number(process.env['QUARRY_TEST_HISTORIES'] ?? 6)
const ROUNDS = 120
const KEYS = 4
const RETRY_MS = 200
/** Followers that rest hear once a second of a time that was closed a second ago. */
const FRESH_MS = 3000
/** Near the greatest difference of clocks that nodes accept. */
const AHEAD_MS = [400, 0, 200]
const EVERYTHING = { start: Buffer.alloc(0), end: undefined }
const SIGNAL = new AbortController().signal
const TABLES = ['a', 'b'] as const
type Table = (typeof TABLES)[number]
type Worlds = Readonly<Record<Table, ReplicatedWorld>>

/** What one read of both shards at one time has shown. */
interface Shown {
  readonly at: Timestamp
  readonly node: string
  readonly rows: Readonly<Record<Table, readonly string[]>>
}

async function rowsOf(pages: AsyncIterable<readonly ScanRow[]>): Promise<readonly string[]> {
  const rows = (await Array.fromAsync(pages)).flat()
  return rows.map(({ key, record }) => shownRow(key.toString(), record))
}

function shownRow(key: string, record: DocumentRecord): string {
  return `${key} ${versionOf(record)} ${jsonOf(record).toString()}`
}

interface KeptVersion {
  readonly key: string
  readonly record: DocumentRecord
}

/**
 * Every version of every document, read off the bytes of the store without the code of reads: a newest version is
 * under 03 and the key, an earlier one under 04, the key, 00 01 and eight bytes (docs/reference/formats/shard.md).
 */
async function versionsOf(shard: LocalShard): Promise<readonly KeptVersion[]> {
  await shard.settled()
  const found: KeptVersion[] = []
  for await (const page of shard.store.pages({})) {
    for (const [at, record] of page) {
      const isEarlier = at[0] === 0x04
      if (isEarlier || at[0] === 0x03) {
        const end = isEarlier ? at.length - 10 : at.length
        found.push({ key: at.subarray(1, end).toString(), record })
      }
    }
  }
  return found
}

/** For each key the newest version that is not above the time, unless that is a deletion. */
function rowsAt(versions: readonly KeptVersion[], at: Timestamp): readonly string[] {
  const newest = new Map<string, DocumentRecord>()
  for (const { key, record } of versions) {
    const known = newest.get(key)
    const isNewer = known === undefined || versionOf(record) > versionOf(known)
    if (versionOf(record) <= at && isNewer) newest.set(key, record)
  }
  return [...newest]
    .filter(([, record]) => !isDeleted(record))
    .map(([key, record]) => shownRow(key, record))
    .toSorted()
}

class StaleHistory {
  readonly worlds: Worlds
  readonly clock: ManualClock
  readonly shown: Shown[] = []
  readonly committed = new Set<number>()
  readonly #random: Random
  readonly #cut = new Set<string>()
  readonly #newest = new Map<LocalShard, Timestamp>()
  #values = 0
  #pending = 0

  constructor(worlds: Worlds, clock: ManualClock, random: Random) {
    this.worlds = worlds
    this.clock = clock
    this.#random = random
    for (const table of TABLES) {
      const nameOf = (node: string): string => `${table}/${node}`
      worlds[table].isLost = (from, to) =>
        this.#cut.has(nameOf(from)) || this.#cut.has(nameOf(to)) || this.#chance(0.02)
    }
  }

  #chance(ratio: number): boolean {
    return this.#random() < ratio
  }

  #pick<Value>(values: readonly Value[]): Value {
    return must(values[Math.floor(this.#random() * values.length)], 'a value')
  }

  async round(): Promise<void> {
    for (const table of TABLES) {
      if (this.#chance(0.5)) this.#begin(() => this.#write(table))
      await this.#fault(table)
    }
    if (this.#chance(0.3)) this.#begin(() => this.#transact())
    const steps = Math.floor(this.#random() * 8)
    for (let step = 0; step < steps; step++) {
      // Reads come while messages, rows and entries are on their way.
      this.clock.advance(10)
      const turns = Math.floor(this.#random() * 12)
      for (let turn = 0; turn < turns; turn++) await nextTurn()
      if (this.#chance(0.4)) await this.#readSomewhere()
      await this.worlds.a.step()
    }
    await this.#readSomewhere()
  }

  #begin(work: () => Promise<void>): void {
    this.#pending += 1
    void work()
      .catch(() => undefined)
      .finally(() => void (this.#pending -= 1))
  }

  #leader(table: Table): LocalShard {
    return this.worlds[table].leader.shard
  }

  async #write(table: Table): Promise<void> {
    const key = `k${Math.floor(this.#random() * KEYS)}`
    const op = this.#chance(0.2) ? deleteOp(key) : putOp(key, ++this.#values)
    await this.#leader(table).write({ checks: [], ops: [op], ttl: undefined })
  }

  /** The same value under the same key of both shards. */
  async #transact(): Promise<void> {
    const value = ++this.#values
    const name = `t${Math.floor(this.#random() * KEYS)}`
    const key = Buffer.from(name)
    const anchor: ShardAddress = { tableId: 'a', key }
    const begunAt = timestampAtMs(this.clock.nowMs())
    const id = buildTransactionId(begunAt, `${value}`.padStart(16, '0'))
    const participants = TABLES.map((tableId) => intervalOfKey({ tableId, key }))
    const prepare = (table: Table) =>
      this.#insist(() =>
        this.#leader(table).prepare({
          transactionId: id,
          anchor,
          begin: table === 'a' ? { participants } : undefined,
          checks: [],
          ops: [putOp(name, value)],
          ttl: undefined,
        }),
      )
    const outcomes = await Promise.all(TABLES.map(prepare))
    const bounds = outcomes.flatMap((one) => (one.kind === 'prepared' ? [one.commitAtLeast] : []))
    const commitAtLeast = bounds.toSorted((x, y) => (x < y ? 1 : -1))[0] ?? TIMESTAMP_ZERO
    const decision = bounds.length === TABLES.length ? 'commit' : 'abort'
    const decide = { transactionId: id, anchor: key, decision, commitAtLeast } as const
    const decided = await this.#insist(() => this.#leader('a').decide(decide))
    if (decided.state === 'committed') this.committed.add(value)
    const resolve = { transactionId: id, decision: decided }
    for (const table of TABLES) {
      if (this.#chance(0.3)) await this.clock.sleep(RETRY_MS * 10)
      await this.#insist(() => this.#leader(table).resolve(resolve))
    }
  }

  /** Asks again until the call is answered. */
  async #insist<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        return await call()
      } catch {
        await this.clock.sleep(RETRY_MS)
      }
    }
  }

  async #fault(table: Table): Promise<void> {
    const world = this.worlds[table]
    const node = this.#pick(world.nodes)
    const name = `${table}/${node.id}`
    if (node.running === undefined && this.#chance(0.3)) await world.restart(node)
    else if (node.running !== undefined && this.#chance(0.02)) await world.kill(node)
    if (this.#cut.has(name) && this.#chance(0.3)) this.#cut.delete(name)
    else if (this.#chance(0.02)) this.#cut.add(name)
    if (this.#chance(0.03)) this.#elect(table, node)
    world.control.isAway = this.#chance(0.1)
    this.#replaceDead(table)
  }

  /** As a controller would. */
  #replaceDead(table: Table): void {
    const world = this.worlds[table]
    const { leader } = world.control.configuration
    const led = leader && world.node(leader.node)
    const isAlive = led?.running !== undefined && led.incarnation === leader?.incarnation
    if (!isAlive && this.#chance(0.3)) this.#elect(table, this.#pick(world.nodes))
  }

  #elect(table: Table, node: TestNode): void {
    const { control } = this.worlds[table]
    const isMember = control.configuration.inSync.some((member) => member.node === node.id)
    if (node.running !== undefined && isMember) control.elect(node.replica)
  }

  /** At one replica of each shard, leader or follower, cut off or not. */
  async #readSomewhere(): Promise<void> {
    const shards: [Table, LocalShard][] = []
    for (const table of TABLES) {
      const { running } = this.#pick(this.worlds[table].nodes)
      if (running !== undefined) shards.push([table, running.shard])
    }
    const times: Timestamp[] = []
    for (const [, shard] of shards) {
      const time = await shard.closedTime().catch(() => undefined)
      if (time === undefined) return
      expect(time >= (this.#newest.get(shard) ?? 0n), 'closed times never go back').to.equal(true)
      this.#newest.set(shard, time)
      times.push(time)
    }
    const at = times.toSorted((x, y) => (x < y ? -1 : 1))[0]
    if (at === undefined || shards.length < TABLES.length) return
    const rows: Record<Table, readonly string[]> = { a: [], b: [] }
    for (const [table, shard] of shards) {
      const pages = await shard.scanAt({ range: EVERYTHING, at, signal: SIGNAL })
      rows[table] = await rowsOf(pages)
      await this.#expectLookups(shard, at, rows[table])
    }
    this.shown.push({ at, node: shards.map(([, { id }]) => id).join(), rows })
  }

  /** A lookup shows what the scan does. */
  async #expectLookups(shard: LocalShard, at: Timestamp, rows: readonly string[]): Promise<void> {
    for (let k = 0; k < KEYS; k++) {
      for (const key of [`k${k}`, `t${k}`]) {
        const { record } = await shard.readAt(Buffer.from(key), { at })
        const row = record && shownRow(key, record)
        expect(row).to.equal(rows.find((one) => one.startsWith(`${key} `)))
      }
    }
  }

  /** Everything works again, and everything that was begun ends. */
  async heal(): Promise<void> {
    for (const table of TABLES) {
      const world = this.worlds[table]
      world.isLost = () => false
      world.control.isAway = false
      for (const node of world.nodes) if (node.running === undefined) await world.restart(node)
      const [first] = world.control.configuration.inSync
      this.#elect(table, world.node(must(first, 'a member in sync').node))
      await world.until(() => world.nodes.some(({ isServing }) => isServing))
    }
    await this.worlds.a.until(() => this.#pending === 0)
  }

  /** The oracle: all versions that the leaders have kept. */
  async check(): Promise<void> {
    const versions = {
      a: await versionsOf(this.#leader('a')),
      b: await versionsOf(this.#leader('b')),
    }
    for (const { at, node, rows } of this.shown) {
      for (const table of TABLES) {
        const expected = rowsAt(versions[table], at)
        expect(rows[table], `${table} at ${at}, read at ${node}`).to.deep.equal(expected)
      }
      const transacted = (table: Table): readonly string[] =>
        rows[table].filter((row) => row.startsWith('t'))
      expect(transacted('a'), 'a transaction is whole').to.deep.equal(transacted('b'))
    }
  }

  /** Without a write, all replicas show what was a moment ago. */
  async expectFresh(): Promise<void> {
    const nodes = TABLES.flatMap((table) => this.worlds[table].nodes)
    await this.worlds.a.until(async () => {
      const ages = nodes.map(async ({ shard }) => {
        const time = await shard.closedTime().catch(() => undefined)
        return time !== undefined && this.clock.nowMs() - millisOf(time) < FRESH_MS
      })
      return (await Promise.all(ages)).every((isFresh) => isFresh)
    })
  }
}

async function openWorlds(clock: ManualClock): Promise<Worlds> {
  const known: Partial<Record<string, ReplicatedWorld>> = {}
  const router = routesTo(({ tableId }) => known[tableId]?.leader.shard)
  const open = () => ReplicatedWorld.open({ clock, router, aheadMs: AHEAD_MS })
  const worlds = { a: await open(), b: await open() }
  Object.assign(known, worlds)
  return worlds
}

describe('stale reads', () => {
  it('show what was at their time, at every replica and through every fault', async function () {
    this.timeout(300_000)
    const first = Number(process.env['QUARRY_TEST_SEED'] ?? 1)
    let shown = 0
    let committed = 0
    for (let seed = first; seed < first + HISTORIES; seed++) {
      try {
        const clock = new ManualClock()
        const worlds = await openWorlds(clock)
        await using stack = new AsyncDisposableStack()
        for (const world of Object.values(worlds)) stack.use(world)
        const history = new StaleHistory(worlds, clock, seededRandom(seed))
        for (let round = 0; round < ROUNDS; round++) await history.round()
        await history.heal()
        await history.check()
        await history.expectFresh()
        shown += history.shown.length
        committed += history.committed.size
      } catch (error) {
        throw new Error(`QUARRY_TEST_SEED=${seed}`, { cause: error })
      }
    }
    expect(shown, 'the histories have to be of use').to.be.greaterThan(HISTORIES * 20)
    expect(committed, 'transactions have to commit').to.be.greaterThan(HISTORIES)
  })

  it('are refused by a replica that has heard of no closed time, or of an earlier one', async () => {
    await using world = await ReplicatedWorld.open()
    const { shard } = world.node('n2')

    const unknown = await errorOf(() => shard.closedTime())
    await world.until(() =>
      shard.closedTime().then(
        () => true,
        () => false,
      ),
    )
    const at = timestampOf((await shard.closedTime()) + 1n)
    const early = await errorOf(() => shard.readAt(Buffer.from('k'), { at }))

    expect(unknown).to.include({ code: 'UNAVAILABLE' })
    expect(early).to.include({ code: 'UNAVAILABLE' })
  })
})
