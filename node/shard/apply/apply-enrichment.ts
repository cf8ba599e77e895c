// Puts what a model has made of documents beside them. The version says whether the document is still the one that
// the model saw. A transaction that holds the document does not matter: what it commits is another version, which is
// enriched for itself.

import { StepMeter, type Sliced } from '../../../lib/sliced.ts'
import type { OutcomeOf } from '../command/command.ts'
import type { EnrichCommand, EnrichedDocument } from '../command/enrich-command.ts'
import { isDeleted, versionOf } from '../format/document-record.ts'
import { encodeProgress } from '../format/enrichment-progress.ts'
import { parkedKey, progressKey } from '../format/keyspace.ts'
import { encodeParkedMark } from '../format/parked-mark.ts'
import type { ApplyContext } from './apply-context.ts'
import { READ_BYTES_PER_STEP, READ_COST } from './apply-documents.ts'
import type { CommandView } from './command-view.ts'
import { numberedOrdinal, putArtifacts } from './put-artifacts.ts'

/** For an index that the table has no longer, nothing is written. */
export function* applyEnrich(
  { view, indexes }: ApplyContext,
  { index, items, progress }: EnrichCommand,
): Sliced<OutcomeOf['enrich']> {
  if (!indexes.some(({ id }) => id === index)) return { written: 0, skipped: items.length }
  const meter = new StepMeter(READ_BYTES_PER_STEP)
  let written = 0
  for (const item of items) {
    const record = view.record(item.key)
    if (meter.spend(READ_COST + item.artifact.length + (record?.length ?? 0))) yield
    if (record === undefined || isDeleted(record) || versionOf(record) !== item.version) continue
    const { key, artifact } = item
    const ordinal = numberedOrdinal(view, key, record)
    if (ordinal === undefined) continue
    putArtifacts(view, { key, ordinal }, [{ index, artifact }])
    setMark(view, index, item)
    written++
  }
  if (progress !== undefined) view.put(progressKey(index), encodeProgress(progress))
  return { written, skipped: items.length - written }
}

function setMark(view: CommandView, index: string, { key, mark }: EnrichedDocument): void {
  if (mark === 'none') return
  const at = parkedKey(index, key)
  if (mark === 'removed') view.del(at)
  else view.put(at, encodeParkedMark(mark))
}
