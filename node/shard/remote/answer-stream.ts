import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import { runInTurn, type SliceOptions, type Sliced } from '../../../lib/sliced.ts'
import { faultOf, readingFrom, type AnswerOpener, type AnswerSource } from './answer-opener.ts'
import type { WireReader } from './wire/wire-reader.ts'

/** A streamed answer whose head has come. The iteration yields its parts, and ends with it. */
export class AnswerStream implements AsyncIterable<WireReader> {
  /** What came with the head. */
  readonly head: WireReader
  readonly #messages: AsyncIterator<Buffer>
  readonly #opener: AnswerOpener
  readonly #source: AnswerSource
  readonly #onEnd: () => void

  private constructor(
    head: WireReader,
    messages: AsyncIterator<Buffer>,
    from: { opener: AnswerOpener; source: AnswerSource; onEnd: () => void },
  ) {
    this.head = head
    this.#messages = messages
    this.#opener = from.opener
    this.#source = from.source
    this.#onEnd = from.onEnd
  }

  /** Waits for the head. Rejects with the refusal that comes instead. `onEnd` hears the end of a stream. */
  static async open(
    stream: AsyncIterable<Buffer>,
    from: { opener: AnswerOpener; source: AnswerSource; onEnd?: () => void },
  ): Promise<AnswerStream> {
    const messages = stream[Symbol.asyncIterator]()
    const first = await messages.next()
    if (first.done === true) {
      throw new ServiceError('INTERNAL', `node ${from.source.place.node} sent no answer`)
    }
    try {
      const { rest } = from.opener.open(first.value, from.source)
      return new AnswerStream(rest, messages, { onEnd: () => undefined, ...from })
    } catch (error) {
      await messages.return?.()
      throw error
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WireReader, void> {
    try {
      for (;;) {
        const next = await this.#messages.next()
        if (next.done === true) return
        yield this.#opener.open(next.value, this.#source).rest
      }
    } finally {
      this.#onEnd()
      await this.#messages.return?.()
    }
  }

  /** Runs `read` on what came. Throws INTERNAL for malformed bytes. */
  reading<Value>(read: () => Value): Value {
    return readingFrom(this.#source.place, read)
  }

  /** The same for what is read in slices. */
  async readingSliced<Value>(reading: Sliced<Value>, options: SliceOptions): Promise<Value> {
    try {
      return await runInTurn(reading, options)
    } catch (error) {
      const isMalformed = isServiceError(error) && error.code === 'CORRUPTION'
      throw isMalformed ? faultOf(this.#source.place, error) : error
    }
  }

  /** The bytes of all parts. Rejects with INTERNAL when they are more than `bytesMax`. */
  async joined(bytesMax: number): Promise<Buffer> {
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of this) {
      const piece = part.rest()
      bytes += piece.length
      if (bytes > bytesMax) throw new ServiceError('INTERNAL', `more than ${bytesMax} bytes`)
      parts.push(piece)
    }
    return Buffer.concat(parts, bytes)
  }
}
