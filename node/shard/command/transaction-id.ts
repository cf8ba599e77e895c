import type { Brand } from '../../../lib/brand.ts'
import { timestampOf, type Timestamp } from '../../clock/hybrid-clock.ts'

/**
 * 32 hexadecimal digits: the stamp at which the transaction began, then 64 random bits. Ids sort by
 * age, so records of finished transactions can be dropped by range.
 */
export type TransactionId = Brand<string, 'TransactionId'>

export const TRANSACTION_ID_BYTES = 16

function isTransactionId(text: string): text is TransactionId {
  return /^[0-9a-f]{32}$/.test(text)
}

/** `randomBits` are 64 random bits as 16 hexadecimal digits. */
export function buildTransactionId(begunAt: Timestamp, randomBits: string): TransactionId {
  const text = begunAt.toString(16).padStart(16, '0') + randomBits
  if (!isTransactionId(text)) throw new RangeError(`not 64 random bits: "${randomBits}"`)
  return text
}

export function begunAtOf(id: TransactionId): Timestamp {
  return timestampOf(BigInt(`0x${id.slice(0, 16)}`))
}

export function encodeTransactionId(id: TransactionId): Buffer {
  return Buffer.from(id, 'hex')
}

export function decodeTransactionId(bytes: Buffer): TransactionId {
  const text = bytes.toString('hex')
  if (!isTransactionId(text)) throw new RangeError('a transaction id is 16 bytes long')
  return text
}
