import { textParameter, type OperationRequest } from '../../door/operation.ts'

/** Whether a read may be answered by any replica. The contract knows two values and refuses others. */
export function isStale({ query }: Pick<OperationRequest, 'query'>): boolean {
  return textParameter(query, 'consistency') === 'stale'
}

/** Says by how much what a stale read shows is old. */
export function stalenessHeader(stalenessMs: number): readonly [string, string] {
  return ['X-Service-Staleness', String(Math.round(stalenessMs))]
}
