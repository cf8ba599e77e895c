import { must } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import { tokensMaxOf } from '../runtime/graph-feeds.ts'
import type { GraphSession } from '../runtime/graph-session.ts'
import type { Encoding } from '../text/encoding.ts'
import { buildTokenWindows } from '../text/token-windows.ts'
import type { TextWindow } from '../text/token-windows.ts'
import type { TokenizerHandle } from '../text/tokenizer-handle.ts'
import { runRows } from './row-outputs.ts'
import type { RowOutput } from './row-outputs.ts'
import { checkWindowCount } from './window-limits.ts'

/** One logit for each token of a text and each label. */
export interface TokenLogits {
  readonly labelCount: number
  /** In row-major order: token, label. */
  readonly values: Float32Array
}

/** A loaded model that labels tokens. `maxTokens` is the most that it reads at once. */
export interface TokenClassifier {
  readonly session: GraphSession
  readonly tokenizer: TokenizerHandle
  readonly maxTokens: number
}

interface Job {
  readonly text: number
  readonly window: TextWindow
  readonly encoding: Encoding
}

/** Classifies the tokens of texts of any length. The given ids hold no special tokens. */
export async function classifyTokens(
  classifier: TokenClassifier,
  texts: readonly (readonly number[])[],
  signal: AbortSignal,
): Promise<TokenLogits[]> {
  const { session, tokenizer, maxTokens } = classifier
  const room = tokensMaxOf(session.inputs, maxTokens) - tokenizer.specialCount('single')
  const jobs = texts.flatMap((ids, text) => {
    const windows = buildTokenWindows(ids.length, room)
    checkWindowCount(windows.length)
    return windows.map((window): Job => {
      const encoding = tokenizer.wrap(ids.slice(window.start, window.end))
      return { text, window, encoding }
    })
  })
  const results = texts.map((): TokenLogits => ({ labelCount: 0, values: new Float32Array() }))
  const encodings = jobs.map(({ encoding }) => encoding)
  const rows = await runRows(session, encodings, tokenizer, signal)
  for (const [index, job] of jobs.entries()) {
    const row = must(rows[index], 'a row for each window')
    const count = texts[job.text]?.length ?? 0
    const offset = row.leadingPadding + tokenizer.leadingSpecialCount()
    results[job.text] = addWindow(results[job.text], { count, job, row, offset })
  }
  return results
}

interface WindowResult {
  /** The tokens of the whole text. */
  readonly count: number
  readonly job: Job
  readonly row: RowOutput
  /** The index of the window's first token in the row. */
  readonly offset: number
}

function addWindow(
  result: TokenLogits | undefined,
  { count, job, row, offset }: WindowResult,
): TokenLogits {
  const labelCount = row.dims[1]
  if (row.dims.length !== 2 || labelCount === undefined) {
    throw new ServiceError('INFERENCE_FAILED', 'the graph does not answer logits for each token')
  }
  const values =
    result === undefined || result.labelCount === 0
      ? new Float32Array(count * labelCount)
      : result.values
  const { start, end, ownedStart, ownedEnd } = job.window
  if ((row.dims[0] ?? 0) < offset + end - start) {
    throw new ServiceError('INFERENCE_FAILED', 'the graph answers logits for too few tokens')
  }
  const from = (offset + ownedStart - start) * labelCount
  const length = (ownedEnd - ownedStart) * labelCount
  values.set(row.values.subarray(from, from + length), ownedStart * labelCount)
  return { labelCount, values }
}
