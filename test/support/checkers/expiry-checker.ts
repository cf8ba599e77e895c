// Whether documents were seen as long as they lived and no longer, by clocks that differ.

import type { Ending, Violation } from './client-history.ts'

/** A write of a document that expires, or a read of it. Times are those of the world, in ms. */
export interface ExpiryOperation {
  readonly client: string
  readonly kind: 'write' | 'read'
  /** Each key is written once. */
  readonly key: string
  readonly invokedMs: number
  /** Infinity if the outcome is unknown. */
  readonly endedMs: number
  /** A read answers whether the document is there; a write answers true. */
  readonly ending: Ending<boolean>
}

export interface ExpiryRules {
  readonly ttlMs: number
  /** No clock of the cluster is further from the right time than this. */
  readonly skewMs: number
}

/**
 * For each read that was answered:
 * - `late`: it saw a document when all clocks were beyond its time.
 * - `early`: it missed an acknowledged document when no clock had reached its time.
 * - `ghost`: it saw a document whose write was refused, or had not begun.
 * - `again`: it saw a document that an earlier read had missed after its write was acknowledged.
 */
export function findExpiryViolations(
  operations: readonly ExpiryOperation[],
  rules: ExpiryRules,
): readonly Violation[] {
  const byKey = Map.groupBy(operations, ({ key }) => key)
  return [...byKey.values()].flatMap((ofKey) => {
    const write = ofKey.find(({ kind }) => kind === 'write')
    const reads = ofKey.filter(({ kind, ending }) => kind === 'read' && ending.kind === 'ok')
    return reads.flatMap((read) => {
      const rule = isThere(read)
        ? ruleOfPresent(read, { write, reads }, rules)
        : ruleOfAbsent(read, write, rules)
      if (rule === undefined) return []
      const seen = isThere(read) ? 'sees' : 'misses'
      const times = `written from ${write?.invokedMs} to ${write?.endedMs}`
      const description = `${read.client} ${seen} ${read.key} from ${read.invokedMs} to ${read.endedMs}, ${times}`
      return [{ rule, description }]
    })
  })
}

function ruleOfPresent(
  read: ExpiryOperation,
  {
    write,
    reads,
  }: { readonly write: ExpiryOperation | undefined; readonly reads: readonly ExpiryOperation[] },
  { ttlMs, skewMs }: ExpiryRules,
): string | undefined {
  if (write === undefined || write.ending.kind === 'fail') return 'ghost'
  if (write.invokedMs > read.endedMs) return 'ghost'
  if (read.invokedMs - skewMs >= write.endedMs + skewMs + ttlMs) return 'late'
  const missed = reads.some(
    (one) =>
      !isThere(one) && one.invokedMs > write.endedMs && one.endedMs + 2 * skewMs < read.invokedMs,
  )
  return missed ? 'again' : undefined
}

function ruleOfAbsent(
  read: ExpiryOperation,
  write: ExpiryOperation | undefined,
  { ttlMs, skewMs }: ExpiryRules,
): string | undefined {
  if (write?.ending.kind !== 'ok' || write.endedMs >= read.invokedMs) return undefined
  return read.endedMs + skewMs < write.invokedMs - skewMs + ttlMs ? 'early' : undefined
}

function isThere({ ending }: ExpiryOperation): boolean {
  return ending.kind === 'ok' && ending.answer
}
