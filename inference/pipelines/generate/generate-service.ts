import { ServiceError } from '../../../lib/errors.ts'
import type { GeneratorSpec } from '../../models/model-spec.ts'
import { CHARS_PER_TOKEN_MAX } from '../../text/leading-text.ts'
import { fleetRequest, requireModel } from '../model-requests.ts'
import type { RequestOptions, ServiceParts } from '../model-requests.ts'
import type { GenerateEnd, GenerateEvent, GenerateRequest } from './generate-request.ts'

/** The most events that wait for a slow client. One more ends its stream. */
const EVENTS_WAITING_MAX = 65_536

/** A generation that runs when its events are read. */
export interface Generation {
  readonly model: string
  /** Whether the events include `token` events. */
  readonly hasLogprobs: boolean
  /** The events, and as the last one the end. Iterating starts the run; leaving it ends the run. */
  readonly events: AsyncIterable<GenerateEvent | GenerationEnd>
}

/** The end of a generation as its last event. */
export interface GenerationEnd extends GenerateEnd {
  readonly kind: 'end'
}

/**
 * Generates text by a model. Unknown models throw NOT_FOUND, messages that are too long
 * INVALID_ARGUMENT.
 */
export class GenerateService {
  readonly #parts: ServiceParts

  constructor(parts: ServiceParts) {
    this.#parts = parts
  }

  /** The names of all generators. */
  modelNames(): string[] {
    return this.#parts.catalog.ofKind('generator').map(({ name }) => name)
  }

  /**
   * Checks a request. The run starts when the first event is requested, and ends when the iteration
   * does.
   */
  generate(model: string, request: GenerateRequest, options: RequestOptions): Generation {
    const spec = requireModel(this.#parts.catalog, 'generator', model)
    checkLength(spec, request)
    const hasLogprobs = request.topLogprobs !== undefined
    return { model: spec.name, hasLogprobs, events: this.#events(spec, request, options) }
  }

  async *#events(
    spec: GeneratorSpec,
    request: GenerateRequest,
    options: RequestOptions,
  ): AsyncGenerator<GenerateEvent | GenerationEnd> {
    const left = new AbortController()
    const signal = AbortSignal.any([options.signal, left.signal])
    const mailbox = new Mailbox<GenerateEvent | GenerationEnd>(() => left.abort())
    const emit = (event: GenerateEvent): void => mailbox.put(event)
    const asked = fleetRequest(this.#parts, options)
    const run = this.#parts.fleet
      .stream<GenerateEnd>(spec, { sent: request, emit }, asked, signal)
      .then(
        (end) => {
          const { promptTokens: input, completionTokens: output } = end
          this.#parts.onTokens(spec.name, { input, output })
          mailbox.put({ kind: 'end', ...end })
        },
        (error: unknown) => mailbox.fail(options.signal.aborted ? options.signal.reason : error),
      )
    try {
      for (;;) {
        const event = await mailbox.take()
        yield event
        if (event.kind === 'end') return
      }
    } finally {
      left.abort()
      await run
    }
  }
}

/** Refuses far too long messages before a worker tokenizes them. */
function checkLength({ maxTokens }: GeneratorSpec, { messages }: GenerateRequest): void {
  const chars = messages.reduce((sum, { content }) => sum + content.length, 0)
  const charsMax = maxTokens * CHARS_PER_TOKEN_MAX
  if (chars <= charsMax) return
  const message = `messages: they have ${chars} characters, but the model takes ${maxTokens} tokens, at most ${charsMax} characters; send fewer or shorter ones`
  throw new ServiceError('INVALID_ARGUMENT', message)
}

/** Events between a worker that pushes and a client that pulls. */
class Mailbox<Event> {
  readonly #onFull: () => void
  readonly #events: Event[] = []
  #failure: { readonly error: unknown } | undefined
  #wake: (() => void) | undefined

  constructor(onFull: () => void) {
    this.#onFull = onFull
  }

  put(event: Event): void {
    this.#events.push(event)
    if (this.#events.length > EVENTS_WAITING_MAX) this.#onFull()
    this.#wake?.()
  }

  fail(error: unknown): void {
    this.#failure = { error }
    this.#wake?.()
  }

  /** The next event. A failure is thrown after all earlier events. */
  async take(): Promise<Event> {
    for (;;) {
      const event = this.#events.shift()
      if (event !== undefined) return event
      if (this.#failure !== undefined) throw this.#failure.error
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}
