import { expect } from 'chai'
import * as fc from 'fast-check'
import { timestampOf } from '../../../../../node/clock/hybrid-clock.ts'
import {
  documentKey,
  expiryKey,
  historyKey,
  historyRange,
  intentKey,
  keyOfDocumentKey,
  keyOfIntentKey,
  logKey,
  parseExpiryKey,
  parseTransactionKey,
  sequenceOfLogKey,
  transactionKey,
  versionOfHistoryKey,
} from '../../../../../node/shard/format/keyspace.ts'
import { buildTransactionId } from '../../../../../node/shard/command/transaction-id.ts'

/** Bytes that escaping must get right are much more frequent than chance would make them. */
const key = fc
  .array(fc.oneof(fc.constantFrom(0, 1, 0xfe, 0xff), fc.nat(255)), { minLength: 1, maxLength: 6 })
  .map((bytes) => Buffer.from(bytes))
const version = fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn }).map(timestampOf)
const transactionId = version.map((begun) => buildTransactionId(begun, '00ff00ff00ff00ff'))

const sign = (order: number): number => Math.sign(order)

describe('the keys of a shard', () => {
  it('sort by document, then by version with the newest first', () => {
    const history = fc.tuple(key, version)
    fc.assert(
      fc.property(history, history, ([a, v], [b, w]) => {
        const byVersion = v === w ? 0 : v > w ? -1 : 1
        const expected = sign(a.compare(b)) || byVersion
        expect(sign(historyKey(a, v).compare(historyKey(b, w)))).to.equal(expected)
      }),
    )
  })

  it('sort in the order of the document keys', () => {
    fc.assert(
      fc.property(key, key, (a, b) => {
        expect(sign(documentKey(a).compare(documentKey(b)))).to.equal(sign(a.compare(b)))
      }),
    )
  })

  it('decode to the parts that they were made of', () => {
    fc.assert(
      fc.property(key, version, transactionId, fc.nat(), (bytes, at, id, number) => {
        expect(keyOfDocumentKey(documentKey(bytes))).to.deep.equal(bytes)
        expect(keyOfIntentKey(intentKey(bytes, id))).to.deep.equal(bytes)
        expect(versionOfHistoryKey(historyKey(bytes, at))).to.equal(at)
        const transaction = parseTransactionKey(transactionKey(bytes, id))
        expect(transaction).to.deep.equal({ anchor: bytes, transactionId: id })
        const expiry = parseExpiryKey(expiryKey(number, bytes))
        expect(expiry).to.deep.equal({ expiresAtMs: number, key: bytes })
        expect(sequenceOfLogKey(logKey(number))).to.equal(number)
      }),
    )
  })

  it('keep the history of one document out of the range of another', () => {
    fc.assert(
      fc.property(key, version, key, version, (a, atMost, b, written) => {
        const { gte = Buffer.alloc(0), lte = Buffer.alloc(0) } = historyRange(a, atMost)
        const stored = historyKey(b, written)
        const inside = stored.compare(gte) >= 0 && stored.compare(lte) <= 0
        expect(inside).to.equal(a.equals(b) && written <= atMost)
      }),
    )
  })
})
