// Questions to indexes and what they tell of themselves. Format: docs/reference/formats/shard-calls.md.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { DropCounts } from '../../../index/host/drop-report.ts'
import { QUESTIONS } from '../../../index/host/index-engine.ts'
import { isIndexRequest, type AnyIndexRequest } from '../../../index/kinds/index-request.ts'
import type { IndexStatus } from '../../following/index-health.ts'
import type { EnrichmentStatus, ParkedDocument } from '../../following/shard-enrichers.ts'
import { readValue, writeValue } from './value-codec.ts'
import { malformed, type WireReader } from './wire-reader.ts'
import type { WireWriter } from './wire-writer.ts'

/** A legal request has at most some ten thousand values: its text is bounded. */
const REQUEST_VALUES_MAX = 200_000
/** A value takes up to 16 times the memory of its bytes. */
const ANSWER_VALUES_MAX = 8_000_000

/** A question to the index of this name. */
export interface AskedIndex<Asked = AnyIndexRequest> {
  readonly index: string
  readonly asked: Asked
}

export function* writeAsked(
  out: WireWriter,
  {
    index,
    asked,
  }: AskedIndex<{ readonly kind: string; readonly question: string; readonly request: unknown }>,
): Sliced<void> {
  out.text(index).text(asked.kind).text(asked.question)
  yield* writeValue(out, asked.request)
}

export function* readAsked(from: WireReader): Sliced<AskedIndex> {
  const [index, kind, name] = [from.text(), from.text(), from.text()]
  const question = QUESTIONS.find((known) => known === name)
  if (question === undefined) throw malformed(`the question "${name}"`)
  const asked = { kind, question, request: yield* readValue(from, REQUEST_VALUES_MAX) }
  if (!isIndexRequest(asked)) throw malformed(`a request to an index of kind "${kind}"`)
  return { index, asked }
}

/** Reads an answer of any kind to its end. */
export function* readIndexAnswer(from: WireReader): Sliced<unknown> {
  const answer = yield* readValue(from, ANSWER_VALUES_MAX)
  from.end()
  return answer
}

export function writeIndexStatus(out: WireWriter, status: IndexStatus): void {
  out.number(status.totalIndexed).number(status.diskUsage).boolean(status.rebuilding)
  out.number(status.backfillProgress).number(status.backfillItemsProcessed)
  out.boolean(status.error !== undefined)
  if (status.error !== undefined) out.text(status.error.toWellFormed())
  out.number(status.documentsSetAside)
  const { fields, ...all } = status.dropped
  writeDrops(out, all)
  const entries = Object.entries(fields)
  out.u32(entries.length)
  for (const [name, counts] of entries) writeDrops(out.text(name.toWellFormed()), counts)
  writeEnrichment(out, status.enrichment)
  const { waiting, parked, setAside } = status.behind
  out.number(waiting).number(parked).number(setAside)
}

function writeEnrichment(out: WireWriter, status: EnrichmentStatus | undefined): void {
  out.boolean(status !== undefined)
  if (status === undefined) return
  out.number(status.pending).number(status.enriched).number(status.parked).number(status.retrying)
  out.boolean(status.error !== undefined)
  if (status.error !== undefined) out.text(status.error.toWellFormed())
  out.number(status.progress).boolean(status.rebuilding).u32(status.parkedDocuments.length)
  for (const { key, attempts, error } of status.parkedDocuments) {
    out.bytes(key).number(attempts).text(error.toWellFormed())
  }
}

export function readIndexStatus(from: WireReader): IndexStatus {
  return {
    totalIndexed: from.amount(),
    diskUsage: from.amount(),
    rebuilding: from.boolean(),
    backfillProgress: from.amount(),
    backfillItemsProcessed: from.amount(),
    error: from.boolean() ? from.text() : undefined,
    documentsSetAside: from.amount(),
    dropped: { ...readDrops(from), fields: readFields(from) },
    enrichment: from.boolean() ? readEnrichment(from) : undefined,
    behind: { waiting: from.amount(), parked: from.amount(), setAside: from.amount() },
  }
}

function readEnrichment(from: WireReader): EnrichmentStatus {
  return {
    pending: from.amount(),
    enriched: from.amount(),
    parked: from.amount(),
    retrying: from.amount(),
    error: from.boolean() ? from.text() : undefined,
    progress: from.amount(),
    rebuilding: from.boolean(),
    parkedDocuments: readParked(from),
  }
}

function readParked(from: WireReader): readonly ParkedDocument[] {
  const parked: ParkedDocument[] = []
  for (let left = from.u32(); left > 0; left--) {
    parked.push({ key: from.bytes(), attempts: from.amount(), error: from.text() })
  }
  return parked
}

function readFields(from: WireReader): Record<string, DropCounts> {
  const fields: [string, DropCounts][] = []
  for (let left = from.u32(); left > 0; left--) fields.push([from.text(), readDrops(from)])
  return Object.fromEntries(fields)
}

function writeDrops(out: WireWriter, { badValues, overLimit }: DropCounts): void {
  out.number(badValues).number(overLimit)
}

function readDrops(from: WireReader): DropCounts {
  return { badValues: from.amount(), overLimit: from.amount() }
}
