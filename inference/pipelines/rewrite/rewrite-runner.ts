import type { RewriterSpec } from '../../models/model-spec.ts'
import { tokensMaxOf } from '../../runtime/graph-feeds.ts'
import type { ItemOutcome, ModelRunner, RunnerParts } from '../model-runner.ts'
import { searchBeams } from './beam-search.ts'
import type { RewriteItem, RewriteResult } from './rewrite-item.ts'
import { Seq2SeqWriter, openSeq2SeqSessions, releaseSessions } from './seq2seq-model.ts'
import type { Seq2SeqSessions } from './seq2seq-model.ts'

/** Opens a rewriter. */
export async function openRewriteRunner(
  parts: RunnerParts<RewriterSpec>,
): Promise<ModelRunner<RewriteItem, RewriteResult>> {
  const sessions = await openSeq2SeqSessions(parts.spec.seq2seq, (file) => parts.openSession(file))
  return new RewriteRunner(parts, sessions)
}

class RewriteRunner implements ModelRunner<RewriteItem, RewriteResult> {
  readonly #parts: RunnerParts<RewriterSpec>
  readonly #sessions: Seq2SeqSessions

  constructor(parts: RunnerParts<RewriterSpec>, sessions: Seq2SeqSessions) {
    this.#parts = parts
    this.#sessions = sessions
  }

  async run(
    items: readonly RewriteItem[],
    signal: AbortSignal,
  ): Promise<readonly ItemOutcome<RewriteResult>[]> {
    const outcomes: ItemOutcome<RewriteResult>[] = []
    for (const item of items) {
      outcomes.push({ kind: 'done', result: await this.#rewrite(item, signal) })
    }
    return outcomes
  }

  dispose(): Promise<void> {
    return releaseSessions(this.#sessions)
  }

  async #rewrite({ text }: RewriteItem, signal: AbortSignal): Promise<RewriteResult> {
    const { spec, tokenizer } = this.#parts
    signal.throwIfAborted()
    const maxTokens = tokensMaxOf(this.#sessions.encoder.inputs, spec.maxTokens)
    const encoding = tokenizer.encode(text, { maxTokens })
    const writer = await Seq2SeqWriter.read(this.#sessions, spec.seq2seq, { encoding, tokenizer })
    const settings = {
      beamCount: Math.max(spec.beamCount, spec.returnCount),
      tokensMax: spec.maxLength,
      eosIds: spec.seq2seq.eosIds,
    }
    const found = await searchBeams(writer, settings, signal)
    const texts = found.slice(0, spec.returnCount).map(({ ids }) => tokenizer.decode(ids))
    return { texts, isCut: encoding.truncated }
  }
}
