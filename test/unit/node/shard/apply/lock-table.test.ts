import { expect } from 'chai'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import { timestampOf } from '../../../../../node/clock/hybrid-clock.ts'
import type { IntentOp } from '../../../../../node/shard/format/intent-codec.ts'
import { LockTable, type Hold } from '../../../../../node/shard/apply/lock-table.ts'
import { buildTransactionId } from '../../../../../node/shard/command/transaction-id.ts'
import { countTo } from '../../../../support/loads/load.ts'

const one = buildTransactionId(timestampOf(1n), '0000000000000001')
const other = buildTransactionId(timestampOf(2n), '0000000000000002')
const key = Buffer.from([0, 0xff])

function hold(transactionId: typeof one, kind: 'delete' | 'lock', on = key): Hold {
  const op: IntentOp = { kind }
  const anchor = { tableId: 't', key: on }
  const intent = { transactionId, anchor, commitAtLeast: timestampOf(1n), op }
  return { key: on, intent, heldSinceMs: 0 }
}

describe('LockTable', () => {
  it('lets a writer keep out readers and writers, but not itself', () => {
    const locks = new LockTable()
    const writer = hold(one, 'delete')
    locks.add(writer)

    expect(locks.blocker(key, 'read', other)).to.equal(writer)
    expect(locks.blocker(key, 'write', other)).to.equal(writer)
    expect(locks.blocker(key, 'write')).to.equal(writer)
    expect(locks.blocker(key, 'write', one)).to.equal(undefined)
    expect(locks.writer(key)).to.equal(writer)
  })

  it('lets readers share a key and keep out writers', () => {
    const locks = new LockTable()
    locks.add(hold(one, 'lock'))

    expect(locks.blocker(key, 'read', other)).to.equal(undefined)
    expect(locks.blocker(key, 'write', one)).to.equal(undefined)
    expect(locks.blocker(key, 'write', other)?.intent.transactionId).to.equal(one)
    expect(locks.writer(key)).to.equal(undefined)
  })

  it('releases all holds of a transaction, and none of another', () => {
    const locks = new LockTable()
    locks.add(hold(one, 'lock'))
    locks.add(hold(other, 'lock'))
    locks.add(hold(one, 'delete', Buffer.from('k')))

    locks.release(one)

    expect(locks.heldBy(one)).to.deep.equal([])
    expect(locks.blocker(key, 'write')?.intent.transactionId).to.equal(other)
    expect(locks.size).to.equal(1)
  })

  it('hides the holds of a released transaction before they are swept out', () => {
    const locks = new LockTable()
    const keys = countTo(5000).map((n) => Buffer.from(`k${n}`))
    for (const each of keys) locks.add(hold(other, 'delete', each))
    for (const each of keys) locks.add(hold(other, 'lock', Buffer.concat([each, each])))

    locks.release(other)
    const sweep = locks.sweep()
    sweep.next()
    const taken = keys.at(-1) ?? key
    locks.add(hold(one, 'delete', taken))

    expect(locks.isSwept).to.equal(false)
    expect(keys.filter((each) => locks.writer(each) !== undefined)).to.deep.equal([taken])
    expect(keys.some((each) => locks.blocker(Buffer.concat([each, each]), 'write'))).to.equal(false)
    expect([...locks.writers()].map((found) => found.key)).to.deep.equal([taken])
    runAtOnce(sweep)
    expect(locks.isSwept).to.equal(true)
    expect(locks.size).to.equal(1)
    expect(locks.writer(taken)?.intent.transactionId).to.equal(one)
  })

  it('names each transaction once among the holders', () => {
    const locks = new LockTable()
    locks.add(hold(one, 'lock'))
    locks.add(hold(one, 'delete', Buffer.from('k')))
    locks.add(hold(other, 'lock'))

    const holders = [...locks.oldest()].map(({ intent }) => intent.transactionId)

    expect(holders).to.deep.equal([one, other])
  })
})
