import type { Access, Claim } from './contention-queue.ts'
import type { TransactionPart } from './transaction-part.ts'

/** A write of more keys than this takes no place in the queue, because it contends in any case. */
const QUEUED_KEYS_MAX = 1000

/** The places that a write needs; `writes` is how it treats the keys that it writes. */
export function claimsOf(
  parts: readonly TransactionPart[],
  writes: 'alone' | 'instant',
): readonly Claim[] {
  const count = parts.reduce((sum, { ops, checks }) => sum + ops.length + checks.length, 0)
  if (count > QUEUED_KEYS_MAX) return []
  const accesses = new Map<string, Access>()
  const reads = writes === 'instant' ? 'instant' : 'read'
  for (const part of parts) {
    for (const { key } of part.ops) accesses.set(nameOf(part, key), writes)
    for (const { key } of part.checks) {
      const name = nameOf(part, key)
      if (!accesses.has(name)) accesses.set(name, reads)
    }
  }
  return [...accesses].map(([name, access]) => ({ name, access }))
}

/** The part and the key that a claim stands for. */
export function findClaimed(
  parts: readonly TransactionPart[],
  name: string,
): { readonly part: TransactionPart; readonly key: Buffer } | undefined {
  for (const part of parts) {
    const item = [...part.ops, ...part.checks].find(({ key }) => nameOf(part, key) === name)
    if (item !== undefined) return { part, key: item.key }
  }
  return undefined
}

function nameOf({ tableId }: Pick<TransactionPart, 'tableId'>, key: Buffer): string {
  return `${tableId}/${key.toString('latin1')}`
}
