import type { PromptPart } from '../contract/provider.ts'
import type { EmbedItem, NumberForm, RequestLimits } from './embed-protocol.ts'

/**
 * The most numbers of one answer by their form, so that reading it takes a few milliseconds: decimals are
 * parsed one by one, base64 is one long text, and bytes are copied; each number is looked at in all forms.
 */
const NUMBERS_MAX: Readonly<Record<NumberForm, number>> = {
  decimal: 32 * 1024,
  base64: 256 * 1024,
  binary: 256 * 1024,
}
const BYTES_PER_NUMBER: Readonly<Record<NumberForm, number>> = { decimal: 32, base64: 8, binary: 4 }
/** Names, counts and brackets of an answer. */
const ANSWER_FRAME_BYTES = 64 * 1024

/** What the answers of a model were like so far. */
export interface KnownAnswers {
  readonly dimension: number
  readonly form: NumberForm
}

/** The guess for a model that has not answered yet. Its first requests are small. */
const UNKNOWN: KnownAnswers = { dimension: 4_096, form: 'decimal' }

/** The limits of a request to a model whose answers are known, or not. */
export function limitsFor(limits: RequestLimits, known: KnownAnswers = UNKNOWN): RequestLimits {
  const rows = Math.max(1, Math.floor(NUMBERS_MAX[known.form] / known.dimension))
  return { ...limits, itemsMax: Math.min(limits.itemsMax, rows) }
}

/** The most bytes that an answer may have, which is larger than any honest one. */
export function answerBytesMax(known: KnownAnswers | undefined): number {
  const { form, dimension } = known ?? UNKNOWN
  const numbers = Math.max(NUMBERS_MAX[form], dimension)
  return ANSWER_FRAME_BYTES + numbers * BYTES_PER_NUMBER[form]
}

/**
 * A larger item is refused: its request is written in one step. An image of 2,048 pixels has a tenth of it, and no
 * model reads a text of this length.
 */
export const ITEM_BYTES_MAX = 8 * 1024 * 1024

/** Items that go into one request, and the bytes of their texts and data URIs. */
export interface ItemBatch {
  readonly items: readonly EmbedItem[]
  readonly bytes: number
}

/** The next batch from `from` on; undefined at the end. */
export function nextBatch(
  items: readonly EmbedItem[],
  from: number,
  { itemsMax, bytesMax }: RequestLimits,
): ItemBatch | undefined {
  let bytes = 0
  let parts = 0
  let end = from
  for (; end < items.length; end += 1) {
    const item = items[end] ?? []
    const more = bytesOfItem(item)
    // Some protocols send the parts of an item as inputs of their own, so parts count as items.
    const isFull = parts + item.length > itemsMax || bytes + more > bytesMax
    if (end > from && isFull) break
    bytes += more
    parts += item.length
  }
  return end === from ? undefined : { items: items.slice(from, end), bytes }
}

/** The bytes of texts and data URIs. */
export function bytesOfItem(item: readonly PromptPart[]): number {
  return item.reduce((sum, part) => sum + bytesOfPart(part), 0)
}

function bytesOfPart(part: PromptPart): number {
  return part.kind === 'text' ? Buffer.byteLength(part.text) : part.dataUri.length
}
