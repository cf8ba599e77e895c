interface StreamPart {
  readonly bytes: Buffer
  readonly release: () => void
}

type End = { readonly kind: 'end' } | { readonly kind: 'failure'; readonly error: unknown }

/**
 * Messages of a stream between the connection and their reader. The stream's window bounds it. A part
 * is released when the reader asks for the next one.
 */
export class PartQueue implements AsyncIterableIterator<Buffer> {
  #parts: StreamPart[] = []
  #taken: StreamPart | undefined
  #end: End | undefined
  #asked: PromiseWithResolvers<IteratorResult<Buffer, undefined>> | undefined
  readonly #onReturn: () => void

  /** `onReturn` is called once when the reader wants no more before the end. */
  constructor(onReturn: () => void) {
    this.#onReturn = onReturn
  }

  push(bytes: Buffer, release: () => void): void {
    if (this.#end !== undefined) return
    this.#parts.push({ bytes, release })
    this.#settle()
  }

  /** Ends the queue: the reader gets the queued parts, and then the end. */
  finish(): void {
    this.#end ??= { kind: 'end' }
    this.#settle()
  }

  /** The reader gets the error next. */
  fail(error: unknown): void {
    if (this.#end !== undefined && this.#parts.length === 0) return
    this.#end = { kind: 'failure', error }
    this.#parts = []
    this.#settle()
  }

  next(): Promise<IteratorResult<Buffer, undefined>> {
    this.#taken?.release()
    this.#taken = undefined
    this.#asked = Promise.withResolvers()
    const { promise } = this.#asked
    this.#settle()
    return promise
  }

  async return(): Promise<IteratorResult<Buffer, undefined>> {
    const isEarly = this.#end === undefined || this.#parts.length > 0
    this.#end = { kind: 'end' }
    this.#parts = []
    if (isEarly) this.#onReturn()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #settle(): void {
    const asked = this.#asked
    if (asked === undefined) return
    const part = this.#parts.shift()
    if (part !== undefined) {
      this.#taken = part
      asked.resolve({ done: false, value: part.bytes })
    } else if (this.#end?.kind === 'failure') {
      asked.reject(this.#end.error)
      this.#end = { kind: 'end' }
    } else if (this.#end !== undefined) {
      asked.resolve({ done: true, value: undefined })
    } else {
      return
    }
    this.#asked = undefined
  }
}
