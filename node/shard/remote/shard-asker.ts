import { assert } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import { prodWhenLate } from '../../../lib/deadline.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { isSliced, runInTurn, type Sliced } from '../../../lib/sliced.ts'
import type { HybridClock } from '../../clock/hybrid-clock.ts'
import { TransportError, type Call, type CallOptions as LinkOptions } from '../../peer/peer.ts'
import type { ShardId } from '../shard-id.ts'
import { AnswerOpener } from './answer-opener.ts'
import { AnswerStream } from './answer-stream.ts'
import { messagesOf } from './long-messages.ts'
import { ARGUMENT_BYTES_MAX, CALL_TIMEOUT_MS, LONG_BYTES } from './wire/call-limits.ts'
import type { CallCodec } from './shard-calls.ts'
import {
  ShardCaller,
  type Attempt,
  type CallLimits,
  type ShardCallerOptions,
} from './shard-caller.ts'
import type { ShardPlace } from './shard-places.ts'
import { writeCallHead } from './wire/call-head.ts'
import { WireWriter } from './wire/wire-writer.ts'

/** What the asker of a shard needs. */
export interface ShardAskerOptions extends ShardCallerOptions {
  readonly id: ShardId
  readonly hybridClock: HybridClock
  /** Default: CALL_TIMEOUT_MS. */
  readonly timeoutMs?: number | undefined
}

/** How long a caller waits. The deadline is monotonic; by default `timeoutMs` of the asker from now. */
export interface AskLimits {
  readonly signal?: AbortSignal | undefined
  readonly deadlineMs?: number | undefined
}

/** A question with a streamed answer. Such a question may be asked again. */
export interface StreamQuestion {
  readonly operation: number
  readonly argument: WireWriter
  readonly options: Pick<LinkOptions, 'lane' | 'signal'>
}

/** A question whose streamed answer is read for as long as the reader likes. */
export interface OpenQuestion {
  readonly operation: number
  readonly argument: WireWriter
  readonly signal: AbortSignal
}

/** Puts questions to the leader of one shard, in the bytes of docs/reference/formats/shard-calls.md. */
export class ShardAsker {
  readonly #opener: AnswerOpener
  readonly #options: ShardAskerOptions
  readonly #caller: ShardCaller

  constructor(options: ShardAskerOptions) {
    this.#options = options
    this.#caller = new ShardCaller(options.id, options)
    this.#opener = new AnswerOpener(options)
  }

  get clock(): Clock {
    return this.#options.clock
  }

  /** A call with a short argument. */
  async ask<Argument, Answer>(
    codec: CallCodec<Argument, Answer>,
    argument: Argument,
    limits: AskLimits = {},
  ): Promise<Answer> {
    limits.signal?.throwIfAborted()
    const written = new WireWriter()
    const writing = codec.write(written, argument)
    assert(!isWork(writing), 'a short argument is written at once')
    return this.#send(codec, written, limits)
  }

  /** The argument may be long: it is written in slices, and goes in parts to `operation` if it is long. */
  async askLong<Argument, Answer>(
    codec: CallCodec<Argument, Answer>,
    argument: Argument,
    { operation, ...limits }: AskLimits & { readonly operation: number },
  ): Promise<Answer> {
    const { signal } = limits
    signal?.throwIfAborted()
    const written = new WireWriter()
    const writing = codec.write(written, argument)
    if (isWork(writing)) {
      const ended = runInTurn(writing, { clock: this.clock, signal })
      if (ended instanceof Promise) await ended
    }
    if (written.length <= LONG_BYTES) return this.#send(codec, written, limits)
    if (written.length > ARGUMENT_BYTES_MAX) throw tooLong(written.length)
    return this.#upload(codec, written, { operation, ...limits })
  }

  /** `take` reads the whole answer, for which the deadline holds. It is called again for another one. */
  stream<Answer>(
    { operation, argument, options }: StreamQuestion,
    take: (answer: AnswerStream) => Promise<Answer>,
    limits: AskLimits = options,
  ): Promise<Answer> {
    return this.#caller.call(
      async (place, timeoutMs) => {
        const call = this.#callOf(operation, argument, place)
        const source = { place, isTimed: false }
        const messages = place.link.stream(call, { timeoutMs, ...options })
        return take(await AnswerStream.open(messages, { opener: this.#opener, source }))
      },
      this.#limitsOf(limits, true),
    )
  }

  /**
   * A stream on the bulk lane whose reader takes its time. Resolves when its head has come, for which the
   * usual deadline holds.
   */
  openStream(question: OpenQuestion): Promise<AnswerStream> {
    const attempt: Attempt<AnswerStream> = (place, timeoutMs) =>
      this.#open(question, place, timeoutMs)
    return this.#caller.call(attempt, this.#limitsOf(question, true))
  }

  async #open(
    { operation, argument, signal }: OpenQuestion,
    place: ShardPlace,
    timeoutMs: number = CALL_TIMEOUT_MS,
  ): Promise<AnswerStream> {
    const reading = new AbortController()
    const stop = (): void => reading.abort(signal.reason)
    const onEnd = (): void => signal.removeEventListener('abort', stop)
    signal.addEventListener('abort', stop, { once: true })
    const call = this.#callOf(operation, argument, place)
    const messages = place.link.stream(call, { lane: 'bulk', signal: reading.signal })
    const source = { place, isTimed: false }
    const opening = AnswerStream.open(messages, { opener: this.#opener, source, onEnd })
    const onLate = (): void => reading.abort(noHead(timeoutMs))
    try {
      return await prodWhenLate(opening, { clock: this.clock, ms: timeoutMs, onLate })
    } catch (error) {
      onEnd()
      throw error
    }
  }

  /** One-way. The message is lost if no leader is known, or no connection is open. */
  tell(operation: number): void {
    const send = (place: ShardPlace | undefined): void => {
      place?.link.send(this.#callOf(operation, new WireWriter(), place))
    }
    this.#options.places.leaderOf(this.#options.id).then(send, () => undefined)
  }

  #send<Argument, Answer>(
    codec: CallCodec<Argument, Answer>,
    argument: WireWriter,
    limits: AskLimits,
  ): Promise<Answer> {
    return this.#caller.call(
      async (place, timeoutMs) => {
        const call = this.#callOf(codec.operation, argument, place)
        const answer = await place.link.call(call, { timeoutMs, signal: limits.signal })
        return this.#opener.answer(codec, answer, place)
      },
      this.#limitsOf(limits, codec.isRepeatable),
    )
  }

  #upload<Argument, Answer>(
    codec: CallCodec<Argument, Answer>,
    argument: WireWriter,
    { operation, ...limits }: AskLimits & { readonly operation: number },
  ): Promise<Answer> {
    const length = new WireWriter().u32(argument.length)
    return this.#caller.call(
      async (place, timeoutMs) => {
        const call = this.#callOf(operation, length, place)
        const options = { lane: 'bulk', timeoutMs, signal: limits.signal } as const
        const answer = await place.link.upload(call, eachOf(messagesOf(argument.parts())), options)
        return this.#opener.answer(codec, answer, place)
      },
      this.#limitsOf(limits, codec.isRepeatable),
    )
  }

  /** The head is written when the call is sent, with the time of that moment. */
  #callOf(operation: number, argument: WireWriter, { epoch }: ShardPlace): Call {
    const { id, hybridClock } = this.#options
    const body = (): Buffer => {
      const parts = argument.parts()
      const time = hybridClock.readPoint()
      const head = writeCallHead(new WireWriter(), { shard: id, epoch, time }).joined()
      return Buffer.concat([head, ...parts])
    }
    return { operation, body }
  }

  #limitsOf({ signal, deadlineMs }: AskLimits, isRepeatable: boolean): CallLimits {
    const { clock, timeoutMs = CALL_TIMEOUT_MS } = this.#options
    return { signal, isRepeatable, deadlineMs: deadlineMs ?? clock.monotonicMs() + timeoutMs }
  }
}

function isWork(writing: Sliced<void> | void): writing is Sliced<void> {
  return writing !== undefined && isSliced<void>(writing)
}

async function* eachOf(messages: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* messages
}

function noHead(timeoutMs: number): TransportError {
  return new TransportError(
    'DEADLINE_EXCEEDED',
    `no answer within ${Math.round(timeoutMs)} ms`,
    'unknown',
  )
}

function tooLong(bytes: number): ServiceError {
  const message = `a request of ${bytes} bytes is too long for another node; the maximum is ${ARGUMENT_BYTES_MAX}`
  return new ServiceError('INVALID_ARGUMENT', message)
}
