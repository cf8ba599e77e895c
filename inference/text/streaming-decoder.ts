const REPLACEMENT = '\uFFFD'
/**
 * After this many tokens, held text is sent even if it ends with a broken character. Otherwise the
 * work for each token would grow with the held text.
 */
const HELD_TOKENS_MAX = 64

/**
 * Turns token ids into text as they arrive. A token may end within a character; its text is held back
 * until the character is complete.
 *
 * Contract:
 * - The answers of all `push` calls and of one `flush`, joined, are the text of all ids.
 * - It holds back only an unfinished character.
 * - `peek` answers as `push` would, and changes nothing.
 */
export interface DecodeStream {
  push(id: number): string
  peek(id: number): string
  flush(): string
}

/**
 * The stream of a decoder of whole texts. It decodes a few earlier tokens again for each new one.
 */
export class StreamingDecoder implements DecodeStream {
  readonly #decode: (ids: readonly number[]) => string
  /**
   * Ids whose text has been sent. They are kept because the next token's text may depend on them.
   */
  #context: readonly number[] = []
  #fresh: number[] = []
  /** The code units that have been sent of the text of the context and the fresh ids. */
  #emitted = 0

  /** `decode` receives only ids that have a text. */
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
