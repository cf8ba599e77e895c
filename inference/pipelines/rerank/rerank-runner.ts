import type { RerankerSpec } from '../../models/model-spec.ts'
import { tokensMaxOf } from '../../runtime/graph-feeds.ts'
import type { GraphSession } from '../../runtime/graph-session.ts'
import type { TokenizerHandle } from '../../text/tokenizer-handle.ts'
import type { ItemOutcome, ModelRunner, RunnerParts } from '../model-runner.ts'
import { sigmoid } from '../probabilities.ts'
import { runRows } from '../row-outputs.ts'
import { WARM_UP_TEXT } from '../token-estimate.ts'
import type { RerankItem, RerankResult } from './rerank-item.ts'

/** Opens a cross-encoder, which reads query and document together, and scores once as a check. */
export async function openRerankRunner(
  parts: RunnerParts<RerankerSpec>,
): Promise<ModelRunner<RerankItem, RerankResult>> {
  const runner = new RerankRunner(parts, await parts.openSession(parts.spec.graphFile))
  try {
    await runner.run([{ query: 'a', document: WARM_UP_TEXT }], new AbortController().signal)
  } catch (error) {
    await runner.dispose()
    throw error
  }
  return runner
}

class RerankRunner implements ModelRunner<RerankItem, RerankResult> {
  readonly #session: GraphSession
  readonly #tokenizer: TokenizerHandle
  readonly #maxTokens: number

  constructor({ spec, tokenizer }: RunnerParts<RerankerSpec>, session: GraphSession) {
    this.#session = session
    this.#tokenizer = tokenizer
    this.#maxTokens = tokensMaxOf(session.inputs, spec.maxTokens)
  }

  async run(
    items: readonly RerankItem[],
    signal: AbortSignal,
  ): Promise<readonly ItemOutcome<RerankResult>[]> {
    const encodings = items.map(({ query, document }) =>
      this.#tokenizer.encodePair(
        { first: query, second: document },
        { maxTokens: this.#maxTokens },
      ),
    )
    const rows = await runRows(this.#session, encodings, this.#tokenizer, signal)
    return rows.map(({ values }, at) => {
      return outcomeOf({ ...scoreOfLogits(values), isCut: encodings[at]?.truncated === true })
    })
  }

  dispose(): Promise<void> {
    return this.#session.release()
  }
}

function outcomeOf(result: RerankResult): ItemOutcome<RerankResult> {
  if (Number.isFinite(result.rawScore)) return { kind: 'done', result }
  const message = 'the model answered a score that is not a finite number'
  return { kind: 'refused', code: 'INFERENCE_FAILED', message }
}

/**
 * With two labels, the second means "relevant", and the sigmoid of the difference is its softmax.
 * With any other number of labels, the first one counts.
 */
export function scoreOfLogits(logits: Float32Array): Omit<RerankResult, 'isCut'> {
  const [first = Number.NaN, second = 0] = logits
  const rawScore = logits.length === 2 ? second - first : first
  return { score: sigmoid(rawScore), rawScore }
}
