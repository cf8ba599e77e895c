// Writes the postings of several segments as those of one: term after term, so that memory holds a block of each input.

import { StepMeter, type Paced } from '../../../../lib/sliced.ts'
import type { PostingsOutput } from '../postings/postings-bytes.ts'
import type { PostingsSum } from '../postings/postings-format.ts'
import { SparsePostingsWriter } from '../postings/sparse-postings-writer.ts'
import { NO_TERM, type WeighedTerms } from './weighed-terms.ts'

/** The terms of one input. */
export interface MergedInput {
  readonly walk: WeighedTerms
  /** By row, the new number; -1 for those left out. They ascend, and are above those of earlier inputs. */
  readonly rowNumbers: Int32Array
}

/** Postings that are read and written in some tenths of a millisecond. */
const POSTINGS_PER_STEP = 16_384
/** What the end of a term costs, in postings. */
const TERM_COST = 64

export function* mergeTerms(
  inputs: readonly MergedInput[],
  out: PostingsOutput,
  chunkSize: number,
): Paced<PostingsSum> {
  const writer = new SparsePostingsWriter(out, chunkSize)
  const meter = new StepMeter(POSTINGS_PER_STEP)
  for (let term = leastTerm(inputs); term !== NO_TERM; term = leastTerm(inputs)) {
    for (const input of inputs) {
      if (input.walk.term !== term) continue
      yield* addTerm(writer, input, meter)
      input.walk.next()
    }
    yield* writer.endTerm(term)
    if (meter.spend(TERM_COST)) yield
  }
  return yield* writer.finish()
}

function leastTerm(inputs: readonly MergedInput[]): number {
  return inputs.reduce((least, { walk }) => Math.min(least, walk.term), NO_TERM)
}

function* addTerm(
  writer: SparsePostingsWriter,
  { walk, rowNumbers }: MergedInput,
  meter: StepMeter,
): Paced<void> {
  for (const { rows, weights } of walk.weighedRows()) {
    for (let i = 0; i < rows.length; i += 1) {
      const row = rowNumbers[rows[i] ?? 0] ?? -1
      if (row < 0) continue
      if (writer.isChunkFull) yield* writer.flushChunk()
      writer.add(row, weights[i] ?? 0)
    }
    if (meter.spend(rows.length)) yield
  }
}
