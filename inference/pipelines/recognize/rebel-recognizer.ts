import type { RecognizerModel } from '../../models/model-spec.ts'
import { tokensMaxOf } from '../../runtime/graph-feeds.ts'
import { buildTokenWindows } from '../../text/token-windows.ts'
import type { TokenizerHandle } from '../../text/tokenizer-handle.ts'
import { searchBeams } from '../rewrite/beam-search.ts'
import { Seq2SeqWriter } from '../rewrite/seq2seq-model.ts'
import type { Seq2SeqSessions } from '../rewrite/seq2seq-model.ts'
import { checkWindowCount } from '../window-limits.ts'
import { REBEL_MARKS, parseTriplets } from './rebel-parser.ts'
import type { Entity, RecognizeItem, RecognizeResult, Relation } from './recognize-item.ts'

/** A loaded REBEL model. The caller releases its sessions. */
export interface RebelModel {
  readonly sessions: Seq2SeqSessions
  readonly tokenizer: TokenizerHandle
  readonly settings: Extract<RecognizerModel, { readonly type: 'rebel' }>
  readonly maxTokens: number
}

const ENTITY_LABEL = 'ENTITY'
/** The value that the model's authors use. */
const BEAM_COUNT = 3

/**
 * Lets the model write the relations of a text, window by window, and finds their entities in the
 * text. The position of an entity is its first match, in any letter case, or -1.
 */
export async function recognizeByWriting(
  model: RebelModel,
  item: RecognizeItem,
  signal: AbortSignal,
): Promise<RecognizeResult> {
  const entities = new Map<string, Entity>()
  const relations = new Map<string, Relation>()
  const wanted = new Set(item.relationLabels.map((label) => label.toLowerCase()))
  for (const { text, score } of await writeWindows(model, item.text, signal)) {
    for (const triplet of parseTriplets(text)) {
      if (wanted.size > 0 && !wanted.has(triplet.relation.toLowerCase())) continue
      const head = entityOf(entities, { text: item.text, name: triplet.head, score })
      const tail = entityOf(entities, { text: item.text, name: triplet.tail, score })
      const key = JSON.stringify([head.text, tail.text, triplet.relation])
      if (!relations.has(key)) relations.set(key, { head, tail, label: triplet.relation, score })
    }
  }
  return { entities: [...entities.values()], relations: [...relations.values()] }
}

async function writeWindows(
  { sessions, tokenizer, settings, maxTokens }: RebelModel,
  text: string,
  signal: AbortSignal,
): Promise<{ text: string; score: number }[]> {
  const ids = tokenizer.content(text)
  const marks = REBEL_MARKS.map((mark) => tokenizer.idOf(mark))
  const keep = new Set(marks.filter((id) => id !== undefined))
  const tokensMax = tokensMaxOf(sessions.encoder.inputs, maxTokens)
  const room = tokensMax - tokenizer.specialCount('single')
  const { eosIds } = settings.seq2seq
  const beams = { beamCount: BEAM_COUNT, tokensMax: settings.maxLength, eosIds }
  const written: { text: string; score: number }[] = []
  const windows = buildTokenWindows(ids.length, room)
  checkWindowCount(windows.length)
  for (const { start, end } of windows) {
    signal.throwIfAborted()
    const encoding = tokenizer.wrap(ids.slice(start, end))
    const source = { encoding, tokenizer }
    const writer = await Seq2SeqWriter.read(sessions, settings.seq2seq, source)
    const [best] = await searchBeams(writer, beams, signal)
    if (best === undefined) continue
    written.push({ text: tokenizer.decode(best.ids, { keep }), score: Math.exp(best.score) })
  }
  return written
}

function entityOf(
  entities: Map<string, Entity>,
  { text, name, score }: { readonly text: string; readonly name: string; readonly score: number },
): Entity {
  const key = name.toLowerCase()
  const known = entities.get(key)
  if (known !== undefined) return known
  const found = new RegExp(RegExp.escape(name), 'iu').exec(text)
  const entity = {
    text: found?.[0] ?? name,
    label: ENTITY_LABEL,
    start: found?.index ?? -1,
    end: found === null ? -1 : found.index + found[0].length,
    score,
  }
  entities.set(key, entity)
  return entity
}
