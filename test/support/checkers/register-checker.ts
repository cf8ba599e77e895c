// Whether the histories of registers are linearizable: after Gibbons and Korach, "Testing shared
// memories" (1997), for histories in which every written value is unique. The check is exact and takes
// n log n steps, so histories of any length can be checked.
//
// The write of a value and the reads that saw it are a cluster. A cluster's zone lies between the first
// end and the last beginning of its operations. If the first end comes first, the value was there for
// all of that time (a forward zone); otherwise its operations can all happen at one moment of the zone (a
// backward zone). The history is linearizable if and only if no two forward zones overlap, no backward
// zone lies inside a forward one, and no read ends before the write that it saw begins.

import { must } from '../../../lib/assert.ts'
import type { Operation, Violation } from './client-history.ts'

export type RegisterCall =
  /** Each value is written once to a key, in the whole history. */
  | { readonly kind: 'write'; readonly key: string; readonly value: string }
  | { readonly kind: 'read'; readonly key: string }

/** What a read saw; undefined: nothing was ever written. A write answers undefined. */
export type RegisterAnswer = string | undefined

export type RegisterOperation = Operation<RegisterCall, RegisterAnswer>

interface Zone {
  readonly value: string | undefined
  /** The first end of an operation, and the last beginning of one. */
  firstEnd: number
  lastBegin: number
}

/** Everything that keeps a register from being linearizable. No register is ever deleted. */
export function findRegisterViolations(
  operations: readonly RegisterOperation[],
): readonly Violation[] {
  const byKey = Map.groupBy(operations, ({ call }) => call.key)
  return [...byKey].flatMap(([key, own]) => violationsOfKey(key, own))
}

function violationsOfKey(key: string, operations: readonly RegisterOperation[]): Violation[] {
  const writes = writesByValue(key, operations)
  const violations: Violation[] = []
  const zones = new Map<string | undefined, Zone>()
  // The empty register was written before everything else.
  zones.set(undefined, { value: undefined, firstEnd: -1, lastBegin: -1 })
  for (const [value, { invokedAt, endedAt, ending }] of writes) {
    // A write that nobody was told of counts from the moment at which somebody has seen it.
    if (ending.kind !== 'ok') continue
    zones.set(value, { value, firstEnd: endedAt, lastBegin: invokedAt })
  }
  for (const read of operations) {
    if (read.call.kind !== 'read' || read.ending.kind !== 'ok') continue
    const { answer: value } = read.ending
    const write = value === undefined ? undefined : writes.get(value)
    const problem = value === undefined ? undefined : problemOfRead(read, write)
    if (problem !== undefined) {
      const description = `${read.client} read ${value} of ${key}, ${problem}`
      violations.push({ rule: 'read', description })
      continue
    }
    const zone = zones.get(value) ?? {
      value,
      firstEnd: Infinity,
      lastBegin: must(write, 'the write of a value').invokedAt,
    }
    zone.firstEnd = Math.min(zone.firstEnd, read.endedAt)
    zone.lastBegin = Math.max(zone.lastBegin, read.invokedAt)
    zones.set(value, zone)
  }
  return [...violations, ...zoneViolations(key, [...zones.values()])]
}

function writesByValue(
  key: string,
  operations: readonly RegisterOperation[],
): ReadonlyMap<string, RegisterOperation> {
  const writes = new Map<string, RegisterOperation>()
  for (const operation of operations) {
    const { call } = operation
    if (call.kind !== 'write') continue
    if (writes.has(call.value)) throw new Error(`${call.value} was written to ${key} twice`)
    writes.set(call.value, operation)
  }
  return writes
}

function problemOfRead(
  { endedAt }: RegisterOperation,
  write: RegisterOperation | undefined,
): string | undefined {
  if (write === undefined) return 'which nobody wrote'
  if (write.ending.kind === 'fail') return 'whose write was refused'
  return endedAt < write.invokedAt ? 'before its write began' : undefined
}

function zoneViolations(key: string, zones: readonly Zone[]): Violation[] {
  const forward = zones
    .filter(({ firstEnd, lastBegin }) => firstEnd < lastBegin)
    .toSorted((a, b) => a.firstEnd - b.firstEnd)
  const violations: Violation[] = []
  for (const [i, zone] of forward.entries()) {
    const before = forward[i - 1]
    if (before !== undefined && zone.firstEnd < before.lastBegin) {
      const description = `${key} was ${shown(before)} and ${shown(zone)} at the same time`
      violations.push({ rule: 'overlap', description })
    }
  }
  for (const zone of zones) {
    if (zone.firstEnd < zone.lastBegin) continue
    const around = lastBefore(forward, zone.lastBegin)
    if (around !== undefined && zone.firstEnd < around.lastBegin) {
      const description = `${key} was ${shown(around)} all the time in which ${shown(zone)} was written and read`
      violations.push({ rule: 'inside', description })
    }
  }
  return violations
}

/** The last of the zones that begins before `at`. */
function lastBefore(zones: readonly Zone[], at: number): Zone | undefined {
  let low = 0
  let high = zones.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (must(zones[middle], 'a zone').firstEnd < at) low = middle + 1
    else high = middle
  }
  return zones[low - 1]
}

function shown({ value }: Zone): string {
  return value ?? 'empty'
}
