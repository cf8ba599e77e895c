import { millisOf, type Timestamp } from '../../clock/hybrid-clock.ts'
import { expiryMsAfter, type TtlPolicy } from '../../schema/document-rules.ts'
import { encodeRecord, type DocumentRecord } from '../format/document-record.ts'
import type { IntentOp } from '../format/intent-codec.ts'
import { effectiveExpiryMs } from '../format/visibility.ts'

/**
 * The document that a write makes at `version`; undefined when it deletes, only locks, or changes artifacts alone. A write that
 * was checked under another policy than the table's present one gets the expiry of the present: the
 * pass that gives documents their new expiry may be over already.
 */
export function intentOutcome(
  op: IntentOp,
  version: Timestamp,
  { ttl, ordinal }: { readonly ttl: TtlPolicy | undefined; readonly ordinal?: number | undefined },
): DocumentRecord | undefined {
  if (op.kind !== 'put') return undefined
  const { json, expiry, ttlGeneration } = op
  const expiresAtMs = expiryMsAfter(expiry, millisOf(version)) ?? 0
  const same = { version, deleted: false, ordinal }
  const planned = encodeRecord({ ...same, ttlGeneration, expiresAtMs }, json)
  const present = ttl?.generation ?? 0
  if ((ttlGeneration & 0xffff) === (present & 0xffff)) return planned
  const presentMs = ttl === undefined ? 0 : effectiveExpiryMs(planned, ttl)
  return encodeRecord({ ...same, ttlGeneration: present, expiresAtMs: presentMs }, json)
}
