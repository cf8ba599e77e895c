import { argMax, softmax } from '../probabilities.ts'
import { classifyTokens } from '../token-logits.ts'
import type { TokenClassifier, TokenLogits } from '../token-logits.ts'
import type { Span } from '../../text/token-offsets.ts'
import { groupEntities } from './entity-grouping.ts'
import type { LabelledWord } from './entity-grouping.ts'
import type { Entity } from './recognize-item.ts'

/** Recognizes entities of a model's fixed labels in texts of any length. */
export async function recognizeByTokens(
  classifier: TokenClassifier,
  { texts, labels }: { readonly texts: readonly string[]; readonly labels: readonly string[] },
  signal: AbortSignal,
): Promise<Entity[][]> {
  const contents = texts.map((text) => classifier.tokenizer.contentWithOffsets(text))
  const ids = contents.map((content) => content.ids)
  const logits = await classifyTokens(classifier, ids, signal)
  return texts.map((text, index) => {
    const spans = contents[index]?.spans ?? []
    const words = labelWords(text, { spans, logits: logits[index], labels })
    return groupEntities(text, words)
  })
}

/**
 * A word has the label of its first token. Such models are trained on first tokens only, so their
 * output for the other tokens of a word has no meaning.
 */
function labelWords(
  text: string,
  {
    spans,
    logits,
    labels,
  }: {
    readonly spans: readonly Span[]
    readonly logits: TokenLogits | undefined
    readonly labels: readonly string[]
  },
): LabelledWord[] {
  const words: LabelledWord[] = []
  for (const [token, span] of spans.entries()) {
    const last = words.at(-1)
    if (last !== undefined && continuesWord(text, last, span)) {
      words[words.length - 1] = { ...last, end: Math.max(last.end, span.end) }
    } else if (logits !== undefined) {
      words.push({ ...span, ...labelOf(logits, token, labels) })
    }
  }
  return words
}

function labelOf(
  { labelCount, values }: TokenLogits,
  token: number,
  labels: readonly string[],
): { label: string; score: number } {
  const row = values.subarray(token * labelCount, (token + 1) * labelCount)
  const probabilities = softmax(Float64Array.from(row))
  const best = argMax(probabilities)
  return { label: labels[best] ?? 'O', score: probabilities[best] ?? 0 }
}

/** In scripts without spaces between words, every character counts as a word. */
const LETTER = /^[\p{L}\p{M}\p{N}]$/u
const WORD_BY_ITSELF = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]$/u

function continuesWord(text: string, word: Span, token: Span): boolean {
  if (token.start < word.end) return true
  if (token.start > word.end) return false
  const before = Array.from(text.slice(Math.max(word.start, word.end - 2), word.end)).at(-1) ?? ''
  const after = String.fromCodePoint(text.codePointAt(token.start) ?? 0)
  return [before, after].every(
    (character) => LETTER.test(character) && !WORD_BY_ITSELF.test(character),
  )
}
