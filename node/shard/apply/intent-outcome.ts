import { millisOf, type Timestamp } from '../../clock/hybrid-clock.ts'
import { expiryMsAfter } from '../../schema/document-rules.ts'
import { encodeRecord, type DocumentRecord } from '../format/document-record.ts'
import type { IntentOp } from '../format/intent-codec.ts'

/** The document that a write makes at `version`; undefined when it deletes or only locks. */
export function intentOutcome(op: IntentOp, version: Timestamp): DocumentRecord | undefined {
  if (op.kind !== 'put') return undefined
  const { json, expiry, ttlGeneration } = op
  const expiresAtMs = expiryMsAfter(expiry, millisOf(version)) ?? 0
  return encodeRecord({ version, deleted: false, ttlGeneration, expiresAtMs }, json)
}
