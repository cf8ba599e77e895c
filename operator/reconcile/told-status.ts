// Statuses that no machine decides: of a StoreCluster that this operator cannot read, and of one for which the API server
// does not take what a step writes. All else in the status stays as it is.

import { messageOf } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import type { FieldProblem } from '../kinds/crd/read-store-cluster.ts'
import type { Step } from '../machines/pass/decision.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import { setCondition } from '../runtime/writes/conditions.ts'
import type { Condition } from '../runtime/writes/conditions.ts'

/** With a condition that names the fields, and never their values. */
export function malformedStatus(
  object: StoredObject,
  problems: readonly FieldProblem[],
  nowMs: number,
): JsonRecord {
  const told = { type: 'SpecValid', status: 'False', reason: 'MalformedObject' } as const
  return statusWith(object, { ...told, message: problemsText(problems) }, nowMs)
}

/**
 * With a condition in the API server's words. It is the same in each pass that is refused, so that nothing is written again;
 * the first pass whose step is taken makes the conditions anew.
 */
export function refusedStatus(
  object: StoredObject,
  { step, error }: { readonly step: Step['kind']; readonly error: unknown },
  nowMs: number,
): JsonRecord {
  const message = `${step}: ${messageOf(error)}`
  const reason = QUOTA.test(message) ? 'QuotaExceeded' : 'Forbidden'
  return statusWith(object, { type: 'Degraded', status: 'True', reason, message }, nowMs)
}

/** As the admission of quotas words it. */
const QUOTA = /exceeded quota/

export function problemsText(problems: readonly FieldProblem[]): string {
  return problems.map(({ path, problem }) => `${path} ${problem}`.trim()).join('; ')
}

function statusWith(
  object: StoredObject,
  condition: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>,
  nowMs: number,
): JsonRecord {
  const status = isJsonRecord(object['status']) ? object['status'] : {}
  const told = { ...condition, observedGeneration: object.metadata.generation ?? 0 }
  return { ...status, conditions: setCondition(conditionsIn(status['conditions']), told, nowMs) }
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
