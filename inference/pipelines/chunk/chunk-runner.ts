import { isServiceError } from '../../../lib/errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import { runSliced, StepMeter, type Sliced } from '../../../lib/sliced.ts'
import type { ChunkerSpec } from '../../models/model-spec.ts'
import type { ItemOutcome, ModelRunner, RunnerParts } from '../model-runner.ts'
import { argMax, softmax } from '../probabilities.ts'
import { classifyTokens } from '../token-logits.ts'
import type { TokenClassifier, TokenLogits } from '../token-logits.ts'
import type { ChunkItem, ChunkResult } from './chunk-item.ts'
import { packPieces } from '../builtin/fixed-chunker.ts'
import type { TextRange } from '../builtin/word-scanner.ts'

/** A shorter segment is joined with the next one. */
const SEGMENT_CHARS_MIN = 50
const BORDER_LABEL = /sep|boundary|^[BI]-/i

/** Reading this many logits takes less than a millisecond. */
const VALUES_PER_STEP = 4096

/**
 * Opens a chunker. Its token classifier marks the borders of a text's segments, and segments are
 * packed to the target.
 */
export async function openChunkRunner(
  parts: RunnerParts<ChunkerSpec>,
): Promise<ModelRunner<ChunkItem, ChunkResult>> {
  const { spec, tokenizer, clock } = parts
  const session = await parts.openSession(spec.graphFile)
  return new ChunkRunner({ session, tokenizer, maxTokens: spec.maxTokens }, spec.labels, clock)
}

class ChunkRunner implements ModelRunner<ChunkItem, ChunkResult> {
  readonly #classifier: TokenClassifier
  readonly #borderLabels: readonly boolean[]
  readonly #clock: Clock

  constructor(classifier: TokenClassifier, labels: readonly string[], clock: Clock) {
    this.#clock = clock
    this.#classifier = classifier
    this.#borderLabels = labels.map((label) => BORDER_LABEL.test(label))
  }

  async run(
    items: readonly ChunkItem[],
    signal: AbortSignal,
  ): Promise<readonly ItemOutcome<ChunkResult>[]> {
    const outcomes: ItemOutcome<ChunkResult>[] = []
    for (const item of items) outcomes.push(await this.#outcomeOf(item, signal))
    return outcomes
  }

  dispose(): Promise<void> {
    return this.#classifier.session.release()
  }

  async #outcomeOf(item: ChunkItem, signal: AbortSignal): Promise<ItemOutcome<ChunkResult>> {
    try {
      return { kind: 'done', result: await this.#chunk(item, signal) }
    } catch (error) {
      if (signal.aborted || !isServiceError(error)) throw error
      const { message } = error
      const code = error.code === 'INVALID_ARGUMENT' ? error.code : 'INFERENCE_FAILED'
      return { kind: 'refused', code, message }
    }
  }

  async #chunk({ text, settings }: ChunkItem, signal: AbortSignal): Promise<ChunkResult> {
    const { ids, spans } = this.#classifier.tokenizer.contentWithOffsets(text)
    const [logits] = await classifyTokens(this.#classifier, [ids], signal)
    const slices = { clock: this.#clock, signal }
    const tokens =
      logits === undefined
        ? []
        : await runSliced(this.#borderTokens(logits, settings.threshold), slices)
    const borders = tokens.map((token) => spans[token]?.end ?? 0)
    const segments = segmentsBetween(borders, text.length)
    const packing = packPieces(text, segments, settings)
    return { chunkedBy: 'model', chunks: await runSliced(packing, slices) }
  }

  /** The tokens that end a segment. Of adjacent separators, only the last one does. */
  *#borderTokens({ labelCount, values }: TokenLogits, threshold: number): Sliced<number[]> {
    const isBorder: boolean[] = []
    const meter = new StepMeter(VALUES_PER_STEP)
    for (let at = 0; at < values.length; at += labelCount) {
      const probabilities = softmax(Float64Array.from(values.subarray(at, at + labelCount)))
      const label = argMax(probabilities)
      const isLikely = (probabilities[label] ?? 0) >= threshold
      isBorder.push(this.#borderLabels[label] === true && isLikely)
      if (meter.spend(labelCount)) yield
    }
    return Array.from(isBorder.keys()).filter((token) => isBorder[token] && !isBorder[token + 1])
  }
}

function segmentsBetween(borders: readonly number[], textLength: number): TextRange[] {
  const segments: TextRange[] = []
  let start = 0
  for (const end of borders) {
    if (end - start < SEGMENT_CHARS_MIN) continue
    segments.push({ start, end })
    start = end
  }
  return [...segments, { start, end: textLength }]
}
