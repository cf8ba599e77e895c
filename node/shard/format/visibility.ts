import { runAtOnce, type Sliced } from '../../../lib/sliced.ts'
import { millisOf } from '../../clock/hybrid-clock.ts'
import { expiryMsOfText, type TtlPolicy } from '../../schema/document-rules.ts'
import {
  expiresAtMsOf,
  isDeleted,
  jsonOf,
  ttlGenerationOf,
  versionOf,
  type DocumentRecord,
} from './document-record.ts'

/** Whether readers at `nowMs` see the record: it is not a tombstone and has not expired. */
export function isVisible(
  record: DocumentRecord,
  ttl: TtlPolicy | undefined,
  nowMs: number,
): boolean {
  if (isDeleted(record)) return false
  if (ttl === undefined) return true
  const expiresAtMs = effectiveExpiryMs(record, ttl)
  return expiresAtMs === 0 || expiresAtMs > nowMs
}

/**
 * When the record expires under the table's present policy; 0 means never. Usually that is in its
 * header; a record that an older policy stamped is computed afresh until the retiming pass has
 * reached it, so that a changed policy holds at once.
 */
export function effectiveExpiryMs(record: DocumentRecord, ttl: TtlPolicy): number {
  return runAtOnce(effectiveExpirySliced(record, ttl))
}

/** As `effectiveExpiryMs`, in steps: a record may be as long as a document may be. */
export function* effectiveExpirySliced(record: DocumentRecord, ttl: TtlPolicy): Sliced<number> {
  if (ttlGenerationOf(record) === (ttl.generation & 0xffff)) return expiresAtMsOf(record)
  if (isDeleted(record)) return 0
  return (yield* expiryMsOfText(jsonOf(record), ttl, millisOf(versionOf(record)))) ?? 0
}
