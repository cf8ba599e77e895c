// A StoreCluster that this operator cannot read: nothing is done for it, and its status says why.

import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import type { FieldProblem } from '../kinds/crd/read-store-cluster.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import { setCondition } from '../runtime/writes/conditions.ts'
import type { Condition } from '../runtime/writes/conditions.ts'

/** The status with a condition that names the fields, and never their values. All else stays as it is. */
export function malformedStatus(
  object: StoredObject,
  problems: readonly FieldProblem[],
  nowMs: number,
): JsonRecord {
  const status = isJsonRecord(object['status']) ? object['status'] : {}
  const told = {
    type: 'SpecValid',
    status: 'False',
    reason: 'MalformedObject',
    message: problemsText(problems),
    observedGeneration: object.metadata.generation ?? 0,
  } as const
  return { ...status, conditions: setCondition(conditionsIn(status['conditions']), told, nowMs) }
}

export function problemsText(problems: readonly FieldProblem[]): string {
  return problems.map(({ path, problem }) => `${path} ${problem}`.trim()).join('; ')
}

function conditionsIn(value: unknown): readonly Condition[] {
  return Array.isArray(value) ? value.filter(isCondition) : []
}

function isCondition(value: unknown): value is Condition {
  return (
    isJsonRecord(value) &&
    ['type', 'status', 'reason', 'message', 'lastTransitionTime'].every(
      (name) => typeof value[name] === 'string',
    )
  )
}
