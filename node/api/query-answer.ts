// The text of a query's answer. Documents are JSON already and pass as they are.

import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import type { QueryHit, QueryResult } from '../search/run/query-result.ts'
import { writeJson, type JsonPieces } from './json-pieces.ts'

/** Written in a step, in bytes; a hit costs more than its bytes. */
const STEP_BYTES = 128 * 1024
const HIT_COST_BYTES = 512

/** Member by member as the contract has it. */
export function* writeQueryResult(result: QueryResult, pieces: JsonPieces): Sliced<void> {
  const { status, took, staleness, table, hits: found, ...others } = result
  const { hits, ...counts } = found
  const head = JSON.stringify({ status, took, staleness, table }).slice(0, -1)
  pieces.text(`${head},"hits":${JSON.stringify(counts).slice(0, -1)},"hits":[`)
  yield* writeHits(hits, pieces)
  pieces.text(']}')
  for (const [name, member] of Object.entries(others)) {
    if (member === undefined) continue
    pieces.text(`,${JSON.stringify(name)}:`)
    yield* writeJson(member, pieces)
  }
  pieces.text('}')
}

function* writeHits(hits: readonly QueryHit[], pieces: JsonPieces): Sliced<void> {
  const meter = new StepMeter(STEP_BYTES)
  for (const [i, hit] of hits.entries()) {
    if (i > 0) pieces.text(',')
    writeHit(hit, pieces)
    const { _source: source } = hit
    if (meter.spend(source.length + HIT_COST_BYTES)) yield
  }
}

/** Member by member: objects that were made only to be written would cost a quarter more. */
function writeHit(hit: QueryHit, pieces: JsonPieces): void {
  const { _id, _score, _index_scores, _index_ranks, _matched, _source, _sort, _highlight } = hit
  pieces.text(
    `{"_id":${JSON.stringify(_id)},"_score":${JSON.stringify(_score)}` +
      memberText('_index_scores', _index_scores) +
      memberText('_index_ranks', _index_ranks) +
      `${memberText('_matched', _matched)},"_source":`,
  )
  pieces.json(_source)
  pieces.text(`,"_sort":${JSON.stringify(_sort)}${memberText('_highlight', _highlight)}}`)
}

function memberText(name: string, value: object | undefined): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`
}
