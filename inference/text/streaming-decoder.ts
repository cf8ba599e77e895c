const REPLACEMENT = '\uFFFD'
/** A text of nothing but broken characters is let go, so that no work grows with its length. */
const HELD_TOKENS_MAX = 64

/**
 * Turns token ids into text as they come. A token may hold a part of a character only; such text
 * is held back until the character is whole.
 *
 * Contract:
 * - What `push` and `flush` answer, joined, is the text of all ids.
 * - Nothing is held but an unfinished character.
 * - `peek` answers what `push` would, and changes nothing.
 */
export interface DecodeStream {
  push(id: number): string
  peek(id: number): string
  flush(): string
}

export class StreamingDecoder implements DecodeStream {
  readonly #decode: (ids: readonly number[]) => string
  /** Ids whose text is out already, kept because the next token's text may depend on them. */
  #context: readonly number[] = []
  #fresh: number[] = []
  /** How many code units of the text of context and fresh ids are out. */
  #emitted = 0

  /** `decode` must be given only ids that have a text. */
  constructor(decode: (ids: readonly number[]) => string) {
    this.#decode = decode
  }

  push(id: number): string {
    this.#fresh.push(id)
    const text = this.#decode([...this.#context, ...this.#fresh])
    // The bytes of an unfinished character decode to one replacement at the end.
    const isHeld = text.endsWith(REPLACEMENT) && this.#fresh.length < HELD_TOKENS_MAX
    return isHeld ? this.#emit(text.slice(0, -REPLACEMENT.length)) : this.#emitAll(text)
  }

  peek(id: number): string {
    const text = this.#decode([...this.#context, ...this.#fresh, id])
    const isHeld = text.endsWith(REPLACEMENT) && this.#fresh.length + 1 < HELD_TOKENS_MAX
    return (isHeld ? text.slice(0, -REPLACEMENT.length) : text).slice(this.#emitted)
  }

  flush(): string {
    return this.#emitAll(this.#decode([...this.#context, ...this.#fresh]))
  }

  #emitAll(text: string): string {
    const delta = this.#emit(text)
    if (this.#fresh.length > 0) this.#context = this.#fresh
    this.#fresh = []
    this.#emitted = this.#decode(this.#context).length
    return delta
  }

  #emit(text: string): string {
    const delta = text.slice(this.#emitted)
    this.#emitted = Math.max(this.#emitted, text.length)
    return delta
  }
}
