// Scores the best hits anew by a model that reads their texts.

import { must } from '../../../lib/assert.ts'
import { isServiceError } from '../../../lib/errors.ts'
import { runInTurn, type Sliced } from '../../../lib/sliced.ts'
import { isRawNumber } from '../../document/exact-json.ts'
import { valuesAt, type FieldPath } from '../../document/field-path.ts'
import { isJsonObject } from '../../document/json-object.ts'
import { documentAtPaths } from '../../document/project-text.ts'
import { refuse } from '../../query/query-limits.ts'
import type { Judgement } from '../../providers/contract/provider.ts'
import type { RerankerRequest } from '../../query/request/reranker-request.ts'
import { jsonOf } from '../../shard/format/document-record.ts'
import { rerankedTextOf } from '../plan/merged-rules.ts'
import type { MergedHit } from './merged-hit.ts'
import type { RerankerProfile } from '../run/query-result.ts'
import type { QueryModels } from '../models/query-models.ts'
import type { QueryRun } from '../run/query-run.ts'

/** Models read less than this of a text, in UTF-16 units. */
const TEXT_LENGTH_MAX = 16_384
/** Documents that are read at once. */
const READ_AT_ONCE = 16

/** Hits in their new order, or in the old one with a warning. */
export interface Reranked {
  readonly hits: readonly MergedHit[]
  readonly warnings: readonly string[]
  readonly profile: RerankerProfile | undefined
}

/**
 * `hits` are those to score. A model that does not answer leaves them in their order. Documents that were
 * deleted meanwhile are left out. Refused: INVALID_ARGUMENT.
 */
export async function rerankHits(
  run: QueryRun,
  reranker: RerankerRequest,
  hits: readonly MergedHit[],
): Promise<Reranked> {
  const { models = {} } = run.parts
  if (models.rerank === undefined) return refuse('reranker', 'this node has none; leave it out')
  if (reranker.text.kind !== 'field' && models.renderDocument === undefined) {
    return refuse('reranker', 'this node renders no documents: name a field, whose text is scored')
  }
  try {
    return await scored(run, reranker, { hits, score: models.rerank.bind(models) })
  } catch (error) {
    const isOurs = !isServiceError(error) || error.code === 'INVALID_ARGUMENT'
    if (isOurs || run.signal.aborted) throw error
    const warning = `reranker: the hits are in the order that they had without it: ${error.message}`
    return { hits, warnings: [warning], profile: undefined }
  }
}

async function scored(
  run: QueryRun,
  reranker: RerankerRequest,
  { hits, score }: { readonly hits: readonly MergedHit[]; readonly score: Score },
): Promise<Reranked> {
  const startMs = run.clock.monotonicMs()
  const { config, topCount } = reranker
  const read = await readTexts(run, reranker, hits)
  const documents = read.map(({ text }) => text)
  const asked = { config, query: rerankedTextOf(run.request) ?? '', documents }
  const { scores, cutCount = 0 } =
    documents.length === 0
      ? NOTHING_JUDGED
      : await run.inHalfTheTime((signal) => score(asked, signal))
  const ordered = read
    .map(({ hit }, i) => ({ ...hit, score: must(scores[i], 'a score for each document') }))
    .toSorted(compareScored)
  const profile = {
    model: typeof config['model'] === 'string' ? config['model'] : config.provider,
    documents_reranked: documents.length,
    duration_ms: Math.round(run.clock.monotonicMs() - startMs),
  }
  const warnings = [
    ...cutWarning(
      read.filter(({ isCut }) => isCut).length,
      `are longer than ${TEXT_LENGTH_MAX} characters, and the rest of them was not read`,
      documents.length,
    ),
    ...cutWarning(
      cutCount,
      'were too long for the model beside the query, and cut',
      documents.length,
    ),
  ]
  return { hits: ordered.slice(0, topCount), warnings, profile }
}

const NOTHING_JUDGED: Judgement = { scores: [], cutCount: 0 }

/** A score of a part of a text says nothing about the rest, which nobody sees in the score. */
function cutWarning(count: number, what: string, of: number): readonly string[] {
  return count === 0 ? [] : [`reranker: ${count} of ${of} texts ${what}`]
}

type Score = NonNullable<QueryModels['rerank']>

interface ReadHit {
  readonly hit: MergedHit
  readonly text: string
  readonly isCut: boolean
}

async function readTexts(
  run: QueryRun,
  reranker: RerankerRequest,
  hits: readonly MergedHit[],
): Promise<readonly ReadHit[]> {
  const texts: ReadHit[] = []
  for (let at = 0; at < hits.length; at += READ_AT_ONCE) {
    const some = hits.slice(at, at + READ_AT_ONCE)
    const read = await Promise.all(some.map((hit) => textOf(run, reranker, Buffer.from(hit.key))))
    for (const [i, hit] of some.entries()) {
      const text = read[i]
      if (text === undefined) continue
      const isCut = text.length > TEXT_LENGTH_MAX
      texts.push({ hit, text: isCut ? text.slice(0, TEXT_LENGTH_MAX) : text, isCut })
    }
  }
  return texts
}

async function textOf(
  run: QueryRun,
  { text }: RerankerRequest,
  key: Buffer,
): Promise<string | undefined> {
  const record = await run.table.shardOf(key).read(key)
  if (record === undefined) return undefined
  const json = jsonOf(record)
  if (text.kind === 'field') {
    return runInTurn(textAt(json, text.path), { clock: run.clock, signal: run.signal })
  }
  const template = text.kind === 'template' ? text.template : undefined
  return run.parts.models?.renderDocument?.({ key: key.toString(), json, template }, run.signal)
}

/** All texts and numbers of the field, each on a line. */
function* textAt(json: Buffer, path: FieldPath): Sliced<string> {
  const document = yield* documentAtPaths(json, [path])
  if (!isJsonObject(document)) return ''
  const lines = valuesAt(document, path).map((value) => {
    if (isRawNumber(value)) return value.rawJSON
    return value === null || typeof value === 'object' ? '' : String(value)
  })
  return lines.join('\n')
}

function compareScored(a: MergedHit, b: MergedHit): number {
  return a.score === b.score ? Buffer.compare(a.key, b.key) : b.score - a.score
}
