// What is measured of a cluster, read from a StoreCluster as the API server keeps it, whichever version of the operator
// wrote its status: what cannot be read is left out.

import { isJsonRecord, isText, isWhole } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { isKnownCondition } from '../kinds/cluster/conditions.ts'

/** A StoreCluster as far as this knows it. */
export interface MeasuredObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly generation?: number
  }
  readonly [field: string]: unknown
}

/** A condition as a series tells it: its values are words of this operator. */
export interface MeasuredCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
}

/** The operation in flight. Times are absent where they cannot be read. */
export interface MeasuredOperation {
  readonly type: string
  readonly startedMs?: number
  readonly movedMs?: number
}

/** Counts are absent until the operator has written them. */
export interface MeasuredCluster {
  readonly namespace: string
  readonly name: string
  /** Generations of the spec that the operator has not looked at. */
  readonly generationsBehind: number
  readonly phase: string
  readonly conditions: readonly MeasuredCondition[]
  readonly operation?: MeasuredOperation
  readonly nodes: Readonly<Partial<Record<'desired' | 'ready' | 'updated', number>>>
  readonly etcd: Readonly<Partial<Record<'desired' | 'ready' | 'dbSize', number>>>
  readonly fullestVolumePercent?: number
}

/** A word of the kind: nothing else becomes the value of a label. */
const WORD = /^[A-Z][A-Za-z]{0,62}$/

export function measuredCluster({ metadata, status }: MeasuredObject): MeasuredCluster {
  const told = recordOf(status)
  const operation = operationIn(told['operation'])
  const fullest = fullestIn(told['volumes'])
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    generationsBehind: Math.max(
      0,
      (metadata.generation ?? 0) - wholeOf(told['observedGeneration']),
    ),
    phase: wordOf(told['phase']),
    conditions: recordsOf(told['conditions']).map(conditionOf).filter(isKnownCondition),
    ...(operation === undefined ? {} : { operation }),
    nodes: countsIn(told['nodes'], ['desired', 'ready', 'updated']),
    etcd: countsIn(told['etcd'], ['desired', 'ready', 'dbSize']),
    ...(fullest === undefined ? {} : { fullestVolumePercent: fullest }),
  }
}

function conditionOf({ type, status, reason }: JsonRecord): MeasuredCondition {
  return { type: wordOf(type), status: wordOf(status), reason: wordOf(reason) }
}

function operationIn(value: unknown): MeasuredOperation | undefined {
  const { type, startedAt, lastProgressAt } = recordOf(value)
  if (wordOf(type) === '') return undefined
  const startedMs = momentOf(startedAt)
  const movedMs = momentOf(lastProgressAt)
  return {
    type: wordOf(type),
    ...(startedMs === undefined ? {} : { startedMs }),
    ...(movedMs === undefined ? {} : { movedMs }),
  }
}

function countsIn<Name extends string>(
  value: unknown,
  names: readonly Name[],
): Readonly<Partial<Record<Name, number>>> {
  const record = recordOf(value)
  const counts: Partial<Record<Name, number>> = {}
  for (const name of names) {
    const count = record[name]
    if (isWhole(count)) counts[name] = count
  }
  return counts
}

function fullestIn(value: unknown): number | undefined {
  const used = recordsOf(value).flatMap(({ usedPercent }) =>
    isWhole(usedPercent) ? [usedPercent] : [],
  )
  return used.length === 0 ? undefined : Math.max(...used)
}

function momentOf(value: unknown): number | undefined {
  const moment = isText(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(moment) ? undefined : moment
}

function recordOf(value: unknown): JsonRecord {
  return isJsonRecord(value) ? value : {}
}

function recordsOf(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isJsonRecord) : []
}

function wholeOf(value: unknown): number {
  return isWhole(value) ? value : 0
}

function wordOf(value: unknown): string {
  return isText(value) && WORD.test(value) ? value : ''
}
