// The record of a leadership, as a Lease has it.

import { isJsonRecord, isText, isWhole } from '../../../lib/json-record.ts'
import type { ApiObject, StoredObject } from '../api/api-object.ts'

/** Who leads, by what it wrote last. An empty holder means that nobody does. */
export interface LeaseRecord {
  readonly holder: string
  readonly durationSeconds: number
  readonly transitions: number
  /** Times are for people alone: clocks of machines differ. */
  readonly acquireTime: string
  readonly renewTime: string
}

export function leaseRecordOf({ spec }: ApiObject): LeaseRecord {
  const record = isJsonRecord(spec) ? spec : {}
  const { holderIdentity, leaseDurationSeconds, leaseTransitions, acquireTime, renewTime } = record
  return {
    holder: isText(holderIdentity) ? holderIdentity : '',
    durationSeconds: isWhole(leaseDurationSeconds) ? leaseDurationSeconds : 0,
    transitions: isWhole(leaseTransitions) ? leaseTransitions : 0,
    acquireTime: isText(acquireTime) ? acquireTime : '',
    renewTime: isText(renewTime) ? renewTime : '',
  }
}

/** The lease with a record. A released one has a duration of one second, as the API refuses 0. */
export function leaseWith<Lease extends ApiObject | StoredObject>(
  lease: Lease,
  record: LeaseRecord,
): Lease {
  return {
    ...lease,
    spec: {
      holderIdentity: record.holder,
      leaseDurationSeconds: Math.max(1, record.durationSeconds),
      leaseTransitions: record.transitions,
      acquireTime: record.acquireTime,
      renewTime: record.renewTime,
    },
  }
}

/** The API refuses times of leases and events without six digits behind the second. */
export function microTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`
}
