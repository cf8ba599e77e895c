import { expect } from 'chai'
import { HybridClock, TIMESTAMP_ZERO } from '../../node/clock/hybrid-clock.ts'
import { ManualClock } from '../../lib/clock.ts'
import { jsonOf, versionOf } from '../../node/shard/format/document-record.ts'
import type { LedShard } from '../../node/shard/led-shard.ts'
import type { KeyRange } from '../../node/shard/command/key-range.ts'
import type { Shard } from '../../node/shard/shard.ts'
import type { ShardRouter } from '../../node/shard/shard-router.ts'
import { buildTransactionId, type TransactionId } from '../../node/shard/command/transaction-id.ts'
import { describeArtifacts } from './shard-artifacts.ts'
import { describeRange } from './shard-range.ts'
import { describePromises } from './shard-promises.ts'
import { describeShardEnrichment } from './shard-enrichment.ts'
import { failureOf } from '../support/failure-of.ts'
import { intervalOfKey, routesTo } from '../support/worlds/routes.ts'
import { memoryBound, putOp, deleteOp } from '../support/worlds/shard-world.ts'

export interface ShardUnderTest extends AsyncDisposable {
  readonly shard: Shard
  /** As its leader has it: tells what is left behind. */
  readonly led: LedShard
}

export interface ShardParts {
  readonly hybridClock: HybridClock
  readonly clock: ManualClock
  readonly router: ShardRouter
  /** The keys that the shard owns. */
  readonly range: KeyRange
}

const EVERYTHING: KeyRange = { start: Buffer.alloc(0), end: undefined }
const key = Buffer.from('k')
const TABLE = 't'
const anchor = { tableId: TABLE, key }

export interface Bench extends ShardUnderTest {
  readonly hybridClock: HybridClock
  readonly clock: ManualClock
}

/** Every Shard must pass. `open` gives a new, empty one. */
export function describeShard(
  name: string,
  open: (parts: ShardParts) => Promise<ShardUnderTest>,
): void {
  const start = async (range: KeyRange = EVERYTHING): Promise<Bench> => {
    const clock = new ManualClock()
    const hybridClock = await HybridClock.open(clock, memoryBound)
    const known: { shard?: Shard } = {}
    const under = await open({ hybridClock, clock, range, router: routesTo(() => known.shard) })
    known.shard = under.shard
    return {
      shard: under.shard,
      led: under.led,
      hybridClock,
      clock,
      [Symbol.asyncDispose]: () => under[Symbol.asyncDispose](),
    }
  }
  describe(`${name}: Shard contract`, () => {
    describeWriting(start)
    describeTransactions(start)
    describeScanning(start)
    describeCancellation(start)
    describeArtifacts(start, newId)
    describeShardEnrichment(start, newId)
    describeRange(start, newId)
    describePromises(start, newId)
  })
}

type Start = (range?: KeyRange) => Promise<Bench>

async function valueOf(shard: Shard): Promise<unknown> {
  const record = await shard.read(key)
  return record === undefined ? undefined : JSON.parse(jsonOf(record).toString()).value
}

const put = (shard: Shard, value: unknown) =>
  shard.write({ checks: [], ops: [putOp('k', value)], ttl: undefined })

function describeWriting(start: Start): void {
  it('reads a written document, and undefined after its deletion', async () => {
    await using bench = await start()
    const { shard } = bench
    await put(shard, 1)
    expect(await valueOf(shard)).to.equal(1)

    await shard.write({ checks: [], ops: [deleteOp('k')], ttl: undefined })

    expect(await valueOf(shard)).to.equal(undefined)
  })

  it('answers a failed check with the present version, and changes nothing', async () => {
    await using bench = await start()
    const { shard } = bench
    const written = await put(shard, 1)
    const found = written.kind === 'written' ? written.version : undefined
    const checks = [{ key, version: TIMESTAMP_ZERO }]

    const refused = await shard.write({ checks, ops: [putOp('k', 2)], ttl: undefined })

    expect(refused).to.deep.equal({ kind: 'version-changed', key, found })
    expect(await valueOf(shard)).to.equal(1)
  })

  it('gives each write of a key a greater version', async () => {
    await using bench = await start()
    const { shard } = bench
    await Promise.all([put(shard, 1), put(shard, 2)])
    const first = await shard.read(key)
    await put(shard, 3)
    const second = await shard.read(key)

    const grew = first !== undefined && second !== undefined && versionOf(first) < versionOf(second)
    expect(grew).to.equal(true)
  })
}

function newId({ hybridClock }: Bench): TransactionId {
  return buildTransactionId(hybridClock.now(), '0123456789abcdef')
}

function prepare({ shard }: Bench, transactionId: TransactionId) {
  const ops = [putOp('k', 'prepared')]
  const begin = { participants: [intervalOfKey(anchor)] }
  return shard.prepare({ transactionId, anchor, begin, checks: [], ops, ttl: undefined })
}

function decide({ shard }: Bench, transactionId: TransactionId, decision: 'commit' | 'abort') {
  const commitAtLeast = TIMESTAMP_ZERO
  return shard.decide({ transactionId, anchor: key, decision, commitAtLeast })
}

function describeTransactions(start: Start): void {
  it('shows a prepared write as soon as it is decided, before it is resolved', async () => {
    await using bench = await start()
    const id = newId(bench)
    await prepare(bench, id)
    expect(await valueOf(bench.shard)).to.equal(undefined)

    await decide(bench, id, 'commit')

    expect(await valueOf(bench.shard)).to.equal('prepared')
  })

  it('refuses writes to a held key, naming the holder', async () => {
    await using bench = await start()
    const id = newId(bench)
    await prepare(bench, id)

    const refused = await put(bench.shard, 2)

    const holder = { transactionId: id, anchor }
    expect(refused).to.deep.equal({ kind: 'key-held', key, holder })
  })

  for (const decision of ['commit', 'abort'] as const) {
    it(`answers repeated calls of a transaction that ended with ${decision} as the first`, async () => {
      await using bench = await start()
      const { shard } = bench
      const id = newId(bench)
      const first = await prepare(bench, id)
      expect(await prepare(bench, id)).to.deep.equal(first)
      const decided = await decide(bench, id, decision)
      for (let times = 0; times < 2; times++) {
        expect(await decide(bench, id, 'abort')).to.deep.equal(decided)
        expect(await decide(bench, id, 'commit')).to.deep.equal(decided)
        await shard.resolve({ transactionId: id, decision: decided })
        await shard.forget(id, key)
        expect(await prepare(bench, id)).to.deep.equal({ kind: 'finished' })
      }

      expect(await valueOf(shard)).to.equal(decision === 'commit' ? 'prepared' : undefined)
      expect(bench.led.unfinishedTransactions()).to.deep.equal([])
      expect(bench.led.holders()).to.deep.equal([])
    })
  }

  it('releases waiting callers when the holder is resolved', async () => {
    await using bench = await start()
    const id = newId(bench)
    await prepare(bench, id)
    const waiting = bench.shard.waitForRelease(id, { timeoutMs: 1_000_000 })
    const decision = await decide(bench, id, 'abort')

    await bench.shard.resolve({ transactionId: id, decision })

    await waiting
    expect((await put(bench.shard, 2)).kind).to.equal('written')
  })

  it('commits above the timestamp up to which it was pushed', async () => {
    await using bench = await start()
    const id = newId(bench)
    await prepare(bench, id)
    const above = bench.hybridClock.now()
    const pushed = await bench.shard.push({ transactionId: id, anchor: key, above, expired: false })

    const decided = await decide(bench, id, 'commit')

    expect(pushed).to.deep.equal({ state: 'pending' })
    expect(decided.state === 'committed' && decided.commitTs > above).to.equal(true)
  })

  it('keeps a transaction from beginning after it was pushed as expired', async () => {
    await using bench = await start()
    const id = newId(bench)
    const above = bench.hybridClock.now()

    const pushed = await bench.shard.push({ transactionId: id, anchor: key, above, expired: true })

    expect(pushed).to.deep.equal({ state: 'aborted' })
    expect(await prepare(bench, id)).to.deep.equal({ kind: 'finished' })
  })
}

function describeScanning(start: Start): void {
  it('scans the documents of a past timestamp in key order', async () => {
    await using bench = await start()
    const { shard, hybridClock } = bench
    await shard.write({ checks: [], ops: [putOp('b', 1), putOp('a', 1)], ttl: undefined })
    const at = hybridClock.now()
    await shard.write({ checks: [], ops: [putOp('b', 2), putOp('c', 2)], ttl: undefined })
    const { signal } = new AbortController()

    const pages = await Array.fromAsync(await shard.scan({ range: shard.range, at, signal }))

    const rows = pages.flat().map((row) => `${row.key.toString()}=${jsonOf(row.record).toString()}`)
    expect(rows).to.deep.equal(['a={"value":1}', 'b={"value":1}'])
  })

  it('scans everything that was acknowledged if no timestamp is given', async () => {
    await using bench = await start()
    const { shard } = bench
    await put(shard, 1)
    const { signal } = new AbortController()

    const pages = await Array.fromAsync(await shard.scan({ range: shard.range, signal }))

    expect(pages.flat().map((row) => row.key.toString())).to.deep.equal(['k'])
  })

  it('tells a moment that is not below what was acknowledged, resolved or not', async () => {
    await using bench = await start()
    const { shard } = bench
    const written = await put(shard, 1)
    const before = await shard.moment(shard.range)
    const id = newId(bench)
    await prepare(bench, id)
    const decision = await decide(bench, id, 'commit')

    const after = await shard.moment(shard.range)

    expect(written.kind === 'written' && written.version <= before).to.equal(true)
    expect(decision.state === 'committed' && decision.commitTs <= after).to.equal(true)
  })

  it('shows a scan a committed transaction that is not resolved yet', async () => {
    await using bench = await start()
    const id = newId(bench)
    await prepare(bench, id)
    await decide(bench, id, 'commit')
    const { shard, hybridClock } = bench
    const { signal } = new AbortController()
    const options = { range: shard.range, at: hybridClock.now(), signal }

    const pages = await Array.fromAsync(await shard.scan(options))

    expect(pages.flat().map((row) => row.key.toString())).to.deep.equal(['k'])
  })
}

/** Every call that may wait, on a shard on which `k` is held by a transaction that nobody decided. */
const WAITING_CALLS: Readonly<
  Record<
    'write' | 'prepare' | 'prepareInOrder' | 'decide' | 'push' | 'waitForRelease' | 'stats',
    (bench: Bench, held: TransactionId, signal: AbortSignal) => Promise<unknown>
  >
> = {
  write: ({ shard }, _held, signal) =>
    shard.write({ checks: [], ops: [putOp('other', 1)], ttl: undefined }, { signal }),
  prepare: (bench, _held, signal) => bench.shard.prepare(prepareOther(bench), { signal }),
  prepareInOrder: (bench, _held, signal) =>
    bench.shard.prepareInOrder(prepareOther(bench), { signal }),
  decide: ({ shard }, transactionId, signal) => {
    const command = { transactionId, anchor: key, decision: 'abort' } as const
    return shard.decide({ ...command, commitAtLeast: TIMESTAMP_ZERO }, { signal })
  },
  push: ({ shard, hybridClock }, transactionId, signal) => {
    const above = hybridClock.readPoint()
    return shard.push({ transactionId, anchor: key, above, expired: false }, { signal })
  },
  waitForRelease: ({ shard }, transactionId, signal) =>
    shard.waitForRelease(transactionId, { timeoutMs: 1_000_000, signal }),
  stats: ({ shard }, _held, signal) => shard.stats({ signal }),
}

function prepareOther(bench: Bench) {
  const other = { tableId: TABLE, key: Buffer.from('other') }
  const begin = { participants: [intervalOfKey(other)] }
  const transactionId = newId(bench)
  const ops = [putOp('other', 1)]
  return { transactionId, anchor: other, begin, checks: [], ops, ttl: undefined }
}

/** A signal that counts who listens to it. */
class CountedSignal {
  readonly #controller = new AbortController()
  listeners = 0

  /** As a caller has it. */
  get signal(): AbortSignal {
    const change = (by: number) => () => {
      this.listeners += by
    }
    return new Proxy(this.#controller.signal, {
      get(target, name) {
        if (name === 'addEventListener') return change(1)
        if (name === 'removeEventListener') return change(-1)
        return Reflect.get(target, name, target)
      },
    })
  }
}

function describeCancellation(start: Start): void {
  for (const [method, call] of Object.entries(WAITING_CALLS)) {
    it(`rejects ${method} with the reason of its signal, and serves the next call`, async () => {
      await using bench = await start()
      const held = newId(bench)
      await prepare(bench, held)
      const caller = new AbortController()
      const reason = new RangeError('the caller went away')

      const calling = failureOf(call(bench, held, caller.signal))
      caller.abort(reason)

      expect(await calling).to.equal(reason)
      const written = await bench.shard.write({ checks: [], ops: [putOp('z', 1)], ttl: undefined })
      expect(written.kind).to.equal('written')
    })
  }

  it('begins no call whose signal has aborted before', async () => {
    await using bench = await start()
    const { shard } = bench
    const signal = AbortSignal.abort(new RangeError('gone before'))
    const transactionId = newId(bench)
    const begin = { participants: [intervalOfKey(anchor)] }
    const rest = { checks: [], ops: [putOp('k', 1)], ttl: undefined }

    const refusals = await Promise.all([
      failureOf(shard.write(rest, { signal })),
      failureOf(shard.prepare({ transactionId, anchor, begin, ...rest }, { signal })),
      failureOf(shard.prepareInOrder({ transactionId, anchor, begin, ...rest }, { signal })),
    ])

    expect(refusals).to.deep.equal([signal.reason, signal.reason, signal.reason])
    expect(await valueOf(shard)).to.equal(undefined)
    expect(bench.led.unfinishedTransactions()).to.deep.equal([])
  })

  it('carries out a write as a whole even if its caller left', async () => {
    await using bench = await start()
    const { shard } = bench
    const caller = new AbortController()
    const writing = failureOf(
      shard.write({ checks: [], ops: [putOp('k', 1)], ttl: undefined }, { signal: caller.signal }),
    )
    caller.abort()
    await writing
    await put(shard, 2) // behind it in the log

    expect(await valueOf(shard)).to.equal(2)
  })

  it('keeps no listener of a signal that never aborts', async () => {
    await using bench = await start()
    const held = newId(bench)
    await prepare(bench, held)
    const caller = new CountedSignal()
    const { signal } = caller

    await bench.shard.write({ checks: [], ops: [putOp('z', 1)], ttl: undefined }, { signal })
    await bench.shard.prepare(prepareOther(bench), { signal })
    await bench.shard.read(key, { signal })
    await bench.shard.stats({ signal })

    expect(caller.listeners).to.equal(0)
  })

  it('obeys the signal of a read of a key that a transaction holds', async () => {
    await using bench = await start()
    await put(bench.shard, 1)
    const signal = AbortSignal.abort(new RangeError('gone'))
    await prepare(bench, newId(bench))

    const reading = bench.shard.read(key, { signal })

    expect(await failureOf(Promise.resolve(reading))).to.equal(signal.reason)
  })
}
