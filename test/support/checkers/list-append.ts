// Judges transactions that read lists and append to them. A list tells the order of its versions and the writer
// of each, so nothing has to be guessed, and nobody has to look at a disk: what a client sees is enough.
//
//   append         each transaction is at the end of its lists as its answer says, once, and in all of them or none
//   prefix         what was read is how the list began
//   stale          what was acknowledged before a transaction began is in what it read
//   version        longer lists have greater versions, lists of one length have the same
//   G0 … G2        the whole is serializable (serializability.ts)

import type { Violation } from './client-history.ts'
import { findAnomalies, type HistoryTransaction } from './serializability.ts'

/** The items of each list, by its key. */
export type Lists = ReadonlyMap<string, readonly string[]>

export interface ListRead {
  readonly key: string
  readonly items: readonly string[]
  /** Undefined for a scan, which tells none. 0: there is no list. */
  readonly version: bigint | undefined
}

/** Its id is the item that it appends. */
export interface ListTransaction {
  readonly id: string
  readonly reads: readonly ListRead[]
  /** The keys of the lists to which it appends. */
  readonly appends: readonly string[]
  readonly outcome: 'ok' | 'fail' | 'unknown'
  /** Places in the one order in which the test saw transactions begin and end. */
  readonly beganAt: number
  readonly endedAt: number
}

/** `final` is what the lists were when all had ended. */
export function listViolations(
  transactions: readonly ListTransaction[],
  final: Lists,
): readonly Violation[] {
  const writers = new Set([...final.values()].flat())
  const isInForce = ({ id, outcome }: ListTransaction): boolean =>
    outcome === 'ok' || writers.has(id)
  const aborted = transactions.filter(({ outcome }) => outcome === 'fail')
  const anomalies = findAnomalies({
    committed: transactions.filter(isInForce).map((one) => transactionOf(one, final)),
    abortedValues: new Set(aborted.map(({ id }) => id)),
  })
  return [
    ...transactions.flatMap((one) => tornAppends(one, final)),
    ...transactions.flatMap((one) => strangeReads(one, final)),
    ...[...final.keys()].flatMap((key) => staleReads(key, transactions, final)),
    ...[...final.keys()].flatMap((key) => versionsOutOfOrder(key, transactions)),
    ...anomalies.map(({ kind, description }) => ({ rule: kind, description })),
  ]
}

function tornAppends(
  { id, appends, outcome }: ListTransaction,
  final: Lists,
): readonly Violation[] {
  const times = appends.map((key) => itemsOf(key, final).filter((item) => item === id).length)
  const isThere = times.every((count) => count === 1)
  const isAbsent = times.every((count) => count === 0)
  const isRight = { ok: isThere, fail: isAbsent, unknown: isThere || isAbsent }[outcome]
  if (isRight) return []
  const description = `${id} (${outcome}) is in ${appends.join()} ${times.join()} times`
  return [{ rule: 'append', description }]
}

function strangeReads({ id, reads }: ListTransaction, final: Lists): readonly Violation[] {
  const isPrefix = ({ key, items }: ListRead): boolean => {
    const last = itemsOf(key, final)
    return items.every((item, i) => last[i] === item)
  }
  return reads
    .filter((read) => !isPrefix(read))
    .map(({ key, items }) => {
      const description = `${id} read ${items.join()} of ${key}, which became another list`
      return { rule: 'prefix', description }
    })
}

function staleReads(
  key: string,
  transactions: readonly ListTransaction[],
  final: Lists,
): readonly Violation[] {
  const placeOf = new Map(itemsOf(key, final).map((item, i) => [item, i]))
  const acknowledged = transactions
    .filter(({ appends, outcome }) => outcome === 'ok' && appends.includes(key))
    .toSorted((a, b) => a.endedAt - b.endedAt)
  return transactions.flatMap(({ id, reads, beganAt }) => {
    const read = reads.find((one) => one.key === key)
    if (read === undefined) return []
    const missed = acknowledged.find(({ id: writer, endedAt }) => {
      return endedAt < beganAt && (placeOf.get(writer) ?? -1) >= read.items.length
    })
    if (missed === undefined) return []
    return [{ rule: 'stale', description: `${id} missed ${missed.id} in ${key}` }]
  })
}

function versionsOutOfOrder(
  key: string,
  transactions: readonly ListTransaction[],
): readonly Violation[] {
  const known = transactions
    .flatMap(({ reads }) => reads)
    .filter((read) => read.key === key)
    .flatMap(({ items, version }) => (version === undefined ? [] : [{ items, version }]))
    .toSorted((a, b) => a.items.length - b.items.length)
  return known.flatMap(({ items, version }, i) => {
    const before = known[i - 1]
    if (before === undefined) return []
    const isSame = before.items.length === items.length
    if (isSame ? before.version === version : before.version < version) return []
    const description =
      `${key} had version ${before.version} with ${before.items.length} items, ` +
      `and ${version} with ${items.length}`
    return [{ rule: 'version', description }]
  })
}

/** A list's length is its version. */
function transactionOf({ id, reads, appends }: ListTransaction, final: Lists): HistoryTransaction {
  const places = appends.map((key) => ({ key, at: itemsOf(key, final).indexOf(id) }))
  return {
    id,
    reads: reads.map(({ key, items }) => {
      return { key, version: BigInt(items.length), value: items.at(-1) }
    }),
    writes: places
      .filter(({ at }) => at >= 0)
      .map(({ key, at }) => ({ key, version: BigInt(at + 1), value: id })),
  }
}

function itemsOf(key: string, lists: Lists): readonly string[] {
  return lists.get(key) ?? []
}
