// Sentences of the contract of Shard that no other part of shard.ts here is about.

import { expect } from 'chai'
import { TIMESTAMP_ZERO, type HybridClock, type Timestamp } from '../../node/clock/hybrid-clock.ts'
import type { ManualClock } from '../../lib/clock.ts'
import type { TransactionId } from '../../node/shard/command/transaction-id.ts'
import { jsonOf } from '../../node/shard/format/document-record.ts'
import { collectHistory } from '../../node/shard/housekeeping/history-collection.ts'
import { PIN_LEASE_MS } from '../../node/shard/history-pins.ts'
import type { LedShard } from '../../node/shard/led-shard.ts'
import type { CallOptions, Shard } from '../../node/shard/shard.ts'
import { failureOf } from '../support/failure-of.ts'
import { passTime } from '../support/worlds/pass-time.ts'
import { intervalOfKey } from '../support/worlds/routes.ts'
import { deleteOp, putOp } from '../support/worlds/shard-world.ts'

interface Bench extends AsyncDisposable {
  readonly shard: Shard
  readonly led: LedShard
  readonly hybridClock: HybridClock
  readonly clock: ManualClock
}

const key = Buffer.from('k')
const anchor = { tableId: 't', key }

function prepareOf(transactionId: TransactionId) {
  const begin = { participants: [intervalOfKey(anchor)] }
  const ops = [putOp('k', 'prepared')]
  return { transactionId, anchor, begin, checks: [], ops, ttl: undefined }
}

function decideOf(transactionId: TransactionId) {
  const at = { commitAtLeast: TIMESTAMP_ZERO, anchor: key }
  return { transactionId, decision: 'commit', ...at } as const
}

/** The time between two writes of one key, in a leadership that is no longer new to its collection. */
async function overwritten(bench: Bench): Promise<Timestamp> {
  const { shard, hybridClock } = bench
  await collectBelow(bench, async () => undefined)
  await passTime(bench.clock, PIN_LEASE_MS)
  await shard.write({ checks: [], ops: [putOp('k', 1)], ttl: undefined })
  const at = hybridClock.now()
  await shard.write({ checks: [], ops: [putOp('k', 2)], ttl: undefined })
  await shard.write({ checks: [], ops: [putOp('other', 3)], ttl: undefined })
  return at
}

/** As a leader's housekeeping, at an age at which all history may go. */
async function collectBelow(
  { led, hybridClock }: Bench,
  collect: (horizon: Timestamp) => Promise<void>,
): Promise<void> {
  await led.collecting(hybridClock.now(), collect)
}

function collectAll(bench: Bench): Promise<void> {
  return collectBelow(bench, (horizon) => collectHistory(bench.led, horizon))
}

async function valuesAt({ shard }: Bench, at: Timestamp): Promise<readonly unknown[]> {
  const { signal } = new AbortController()
  const pages = await Array.fromAsync(await shard.scan({ range: shard.range, at, signal }))
  return pages.flat().map(({ record }) => JSON.parse(jsonOf(record).toString()).value)
}

/** Every method that takes a signal among its options, except those that may answer at once. */
const WITH_SIGNAL: Readonly<
  Record<string, (bench: Bench, id: TransactionId, options: CallOptions) => Promise<unknown>>
> = {
  artifacts: ({ shard }, _id, options) => shard.artifacts({ keys: [key], indexes: [] }, options),
  write: ({ shard }, _id, options) =>
    shard.write({ checks: [], ops: [putOp('k', 1)], ttl: undefined }, options),
  prepare: ({ shard }, id, options) => shard.prepare(prepareOf(id), options),
  prepareInOrder: ({ shard }, id, options) => shard.prepareInOrder(prepareOf(id), options),
  decide: ({ shard }, id, options) => shard.decide(decideOf(id), options),
  push: ({ shard, hybridClock }, transactionId, options) => {
    const asked = { transactionId, anchor: key, above: hybridClock.readPoint(), expired: true }
    return shard.push(asked, options)
  },
  heartbeat: ({ shard }, id, options) => shard.heartbeat(id, options),
  pinHistory: ({ shard, hybridClock }, _id, options) =>
    shard.pinHistory({ reader: 'n', at: hybridClock.readPoint() }, options),
  stats: ({ shard }, _id, options) => shard.stats(options),
  state: ({ shard }, _id, options) => shard.state(options),
}

/** `newId` names a transaction that has not begun. */
export function describePromises<Under extends Bench>(
  start: () => Promise<Under>,
  newId: (bench: Under) => TransactionId,
): void {
  for (const [method, call] of Object.entries(WITH_SIGNAL)) {
    it(`does nothing in ${method} when its signal has aborted before`, async () => {
      await using bench = await start()
      const { committedSequence } = bench.led
      const signal = AbortSignal.abort(new RangeError('gone before'))

      const failure = await failureOf(call(bench, newId(bench), { signal }))

      expect(failure).to.equal(signal.reason)
      await bench.led.settled()
      expect(bench.led.committedSequence).to.equal(committedSequence)
    })
  }

  it('ignores the heartbeat of a transaction that it does not know', async () => {
    await using bench = await start()

    await bench.shard.heartbeat(newId(bench))

    expect(bench.led.unfinishedTransactions()).to.deep.equal([])
  })

  it('refuses a scan below the collected history', async () => {
    await using bench = await start()
    const { shard, led, hybridClock } = bench
    const at = hybridClock.now()
    await shard.write({ checks: [], ops: [putOp('k', 1)], ttl: undefined })
    const upTo = hybridClock.now()
    const nothing = { sequences: [], drops: [], finished: [], artifacts: [] }
    await led.housekeep({ kind: 'collect', upTo, ...nothing })
    const { signal } = new AbortController()

    // Another node's shard refuses with the first page, its own at the call.
    const walk = async () => Array.fromAsync(await shard.scan({ range: shard.range, at, signal }))

    expect(await failureOf(walk())).to.include({ code: 'HISTORY_GONE' })
  })

  it('keeps the history that a node has pinned until PIN_LEASE_MS have passed', async () => {
    await using bench = await start()
    const at = await overwritten(bench)

    await bench.shard.pinHistory({ reader: 'n', at })
    await collectAll(bench)
    const whilePinned = await valuesAt(bench, at)
    await passTime(bench.clock, PIN_LEASE_MS + 1)
    await collectAll(bench)

    expect(whilePinned).to.deep.equal([1])
    expect(await failureOf(valuesAt(bench, at))).to.include({ code: 'HISTORY_GONE' })
  })

  it('keeps what the slowest of several nodes reads, as long as it asks again', async () => {
    await using bench = await start()
    const at = await overwritten(bench)

    for (let round = 0; round < 3; round++) {
      await bench.shard.pinHistory({ reader: 'slow', at })
      await bench.shard.pinHistory({ reader: 'quick', at: bench.hybridClock.now() })
      await passTime(bench.clock, PIN_LEASE_MS - 50)
      await collectAll(bench)
    }

    expect(await valuesAt(bench, at)).to.deep.equal([1])
  })

  it('keeps a later time of a node in place of its earlier one', async () => {
    await using bench = await start()
    const at = await overwritten(bench)

    await bench.shard.pinHistory({ reader: 'n', at })
    await bench.shard.pinHistory({ reader: 'n', at: bench.hybridClock.now() })
    await collectAll(bench)

    expect(await failureOf(valuesAt(bench, at))).to.include({ code: 'HISTORY_GONE' })
  })

  it('refuses to pin what is collected', async () => {
    await using bench = await start()
    const at = await overwritten(bench)
    await collectAll(bench)

    const refused = await failureOf(bench.shard.pinHistory({ reader: 'n', at }))

    expect(refused).to.include({ code: 'HISTORY_GONE' })
  })

  it('refuses to pin what a collection is about to remove', async () => {
    await using bench = await start()
    const at = await overwritten(bench)
    const refusal = Promise.withResolvers<unknown>()

    await collectBelow(bench, async () => {
      refusal.resolve(await failureOf(bench.shard.pinHistory({ reader: 'n', at })))
    })

    expect(await refusal.promise).to.include({ code: 'HISTORY_GONE' })
  })

  it('says whether readers find no document', async () => {
    await using bench = await start()
    const { shard } = bench
    const isEmpty = async (): Promise<boolean> => {
      await bench.led.settled()
      return (await shard.stats()).empty
    }
    const before = await isEmpty()
    await shard.write({ checks: [], ops: [putOp('k', 1)], ttl: undefined })
    const between = await isEmpty()

    await shard.write({ checks: [], ops: [deleteOp('k')], ttl: undefined })

    expect([before, between, await isEmpty()]).to.deep.equal([true, false, true])
  })

  it('frees the keys before a resolution is answered that nobody awaits', async () => {
    await using bench = await start()
    const { shard } = bench
    const transactionId = newId(bench)
    await shard.prepare(prepareOf(transactionId))
    const decision = await shard.decide(decideOf(transactionId))
    const released = Promise.withResolvers<void>()
    const options = { isAwaited: false, onReleased: () => released.resolve() }

    const resolving = shard.resolve({ transactionId, decision }, options)
    await released.promise
    shard.hurry()
    await resolving

    expect(bench.led.holders()).to.deep.equal([])
    const written = await shard.write({ checks: [], ops: [putOp('k', 2)], ttl: undefined })
    expect(written.kind).to.equal('written')
  })

  it('decides a transaction after the fate of what was prepared in order', async () => {
    await using bench = await start()
    const { shard } = bench
    const id = newId(bench)
    const { outcome, fate } = await shard.prepareInOrder(prepareOf(id))

    const after = fate === undefined ? [] : [fate]
    const decision = await shard.decide(decideOf(id), { after })

    expect([outcome.kind, decision.state]).to.deep.equal(['prepared', 'committed'])
  })
}
