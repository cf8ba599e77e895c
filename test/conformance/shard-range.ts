// What every Shard does with keys that another shard owns. Part of the contract in shard.ts.

import { expect } from 'chai'
import { TIMESTAMP_ZERO, type HybridClock } from '../../node/clock/hybrid-clock.ts'
import type { WriteOp } from '../../node/shard/command/command.ts'
import type { KeyRange } from '../../node/shard/command/key-range.ts'
import type { TransactionId } from '../../node/shard/command/transaction-id.ts'
import type { LedShard } from '../../node/shard/led-shard.ts'
import type { Shard } from '../../node/shard/shard.ts'
import { failureOf } from '../support/failure-of.ts'
import { intervalOfKey } from '../support/worlds/routes.ts'
import { deleteOp, putOp } from '../support/worlds/shard-world.ts'

interface Bench extends AsyncDisposable {
  readonly shard: Shard
  readonly led: LedShard
  readonly hybridClock: HybridClock
}

const TABLE = 't'
const RANGE: KeyRange = { start: Buffer.from('m'), end: Buffer.from('p') }
const INSIDE = ['m', 'm\u0000', 'n', 'o\u{10FFFF}']
const OUTSIDE = ['a', 'l\u{10FFFF}', 'p', 'p\u0000', 'z']

/** A call that names one key. */
type KeyedCall = (bench: Bench, key: string, newId: () => TransactionId) => Promise<unknown>

function writeOf(ops: readonly WriteOp[]) {
  return { checks: [], ops, ttl: undefined }
}

function checkOf(key: string) {
  return { key: Buffer.from(key), version: TIMESTAMP_ZERO }
}

/** A part of a transaction that begins at `anchor`. */
function prepareOf(id: TransactionId, anchor: string, ops: readonly WriteOp[]) {
  const address = { tableId: TABLE, key: Buffer.from(anchor) }
  const begin = { participants: [intervalOfKey(address)] }
  return { transactionId: id, anchor: address, begin, ...writeOf(ops) }
}

const signal = new AbortController().signal

/** Methods that are given keys, and how they are called with one; the others name no key. */
const CALLS: Readonly<Record<keyof Shard, readonly KeyedCall[]>> = {
  read: [async ({ shard }, key) => shard.read(Buffer.from(key))],
  artifacts: [
    ({ shard }, key) =>
      shard.artifacts({ keys: [Buffer.from(key)], indexes: ['0123456789abcdef'] }),
  ],
  moment: [async ({ shard }, key) => shard.moment(from(key))],
  indexAtOnce: [],
  scan: [({ shard }, key) => shard.scan({ range: from(key), signal })],
  write: [
    ({ shard }, key) => shard.write(writeOf([putOp(key, 1)])),
    ({ shard }, key) => shard.write(writeOf([deleteOp(key)])),
    ({ shard }, key) => shard.write(writeOf([putOp('n', 1), putOp(key, 1)])),
    ({ shard }, key) => shard.write({ ...writeOf([putOp('n', 1)]), checks: [checkOf(key)] }),
    ({ shard }, key) => shard.write({ ...writeOf([]), checks: [checkOf(key)] }),
    ({ shard }, key) =>
      shard.write(writeOf([...Array.from({ length: 9000 }, () => putOp('n', 1)), putOp(key, 1)])),
  ],
  prepare: [
    ({ shard }, key, newId) => shard.prepare(prepareOf(newId(), 'n', [putOp(key, 1)])),
    ({ shard }, key, newId) => shard.prepare(prepareOf(newId(), key, [putOp('n', 1)])),
    ({ shard }, key, newId) =>
      shard.prepare({ ...prepareOf(newId(), 'n', []), checks: [checkOf(key)] }),
  ],
  prepareInOrder: [
    ({ shard }, key, newId) => shard.prepareInOrder(prepareOf(newId(), key, [putOp(key, 1)])),
  ],
  decide: [
    ({ shard }, key, newId) => {
      const command = { transactionId: newId(), anchor: Buffer.from(key) }
      return shard.decide({ ...command, decision: 'commit', commitAtLeast: TIMESTAMP_ZERO })
    },
  ],
  forget: [({ shard }, key, newId) => shard.forget(newId(), Buffer.from(key))],
  push: [false, true].map((expired): KeyedCall => ({ shard, hybridClock }, key, newId) => {
    const asked = { transactionId: newId(), anchor: Buffer.from(key), expired }
    return shard.push({ ...asked, above: hybridClock.readPoint() })
  }),
  id: [],
  range: [],
  durableOrder: [],
  pinHistory: [],
  resolve: [],
  heartbeat: [],
  hurry: [],
  waitForRelease: [],
  search: [],
  indexPosition: [],
  indexStatus: [],
  waitForIndexes: [],
  stats: [],
  state: [],
}

/** The key and its successors up to the next one with another first letter. */
function from(key: string): KeyRange {
  return { start: Buffer.from(key), end: Buffer.concat([Buffer.from(key), Buffer.from([0])]) }
}

async function storeOf({ led }: Bench): Promise<readonly string[]> {
  await led.settled()
  const pages = await Array.fromAsync(led.store.pages({}))
  return pages.flat().map(([key, value]) => `${key.toString('hex')}=${value.toString('hex')}`)
}

/** `newId` names a transaction that has not begun. */
export function describeRange<Under extends Bench>(
  start: (range: KeyRange) => Promise<Under>,
  newId: (bench: Under) => TransactionId,
): void {
  for (const [method, calls] of Object.entries(CALLS)) {
    if (calls.length === 0) continue

    it(`refuses ${method} of a key that another shard owns, and nothing happens`, async () => {
      await using bench = await start(RANGE)
      const before = await storeOf(bench)
      for (const [at, call] of calls.entries()) {
        for (const key of OUTSIDE) {
          const failure = await failureOf(call(bench, key, () => newId(bench)))

          expect(failure, `${key}, call ${at}`).to.include({ code: 'RANGE_MOVED' })
        }
      }
      expect(await storeOf(bench)).to.deep.equal(before)
      expect(bench.led.unfinishedTransactions()).to.deep.equal([])
      expect(bench.led.holders()).to.deep.equal([])
    })

    it(`answers ${method} of each key of its range`, async () => {
      for (const key of INSIDE) {
        for (const [at, call] of calls.entries()) {
          await using bench = await start(RANGE)

          const failure = await failureOf(call(bench, key, () => newId(bench)))

          expect(failure, `${key}, call ${at}`).to.equal(undefined)
        }
      }
    })
  }

  it('refuses a scan and a moment of more than its range', async () => {
    await using bench = await start(RANGE)
    const { shard } = bench
    const { start: first, end } = RANGE
    const wider: readonly KeyRange[] = [
      { start: Buffer.alloc(0), end },
      { start: first, end: undefined },
      { start: first, end: Buffer.from('p\u0000') },
    ]

    for (const range of wider) {
      const refused = [
        await failureOf(shard.scan({ range, signal })),
        await failureOf(Promise.resolve(shard.moment(range))),
      ]
      for (const failure of refused) expect(failure).to.include({ code: 'RANGE_MOVED' })
    }
    expect(await failureOf(shard.scan({ range: RANGE, signal }))).to.equal(undefined)
  })
}
