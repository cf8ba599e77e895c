import { ServiceError } from '../../../lib/errors.ts'
import type { GeneratorSpec } from '../../models/model-spec.ts'
import { CHARS_PER_TOKEN_MAX } from '../../text/leading-text.ts'
import { fleetRequest, requireModel } from '../model-requests.ts'
import type { RequestOptions, ServiceParts } from '../model-requests.ts'
import type { GenerateEnd, GenerateEvent, GenerateRequest } from './generate-request.ts'

/** Events that wait for a slow client; the next one ends its stream. */
const EVENTS_WAITING_MAX = 65_536

export interface Generation {
  readonly model: string
  /** Whether there are `token` events. */
  readonly hasLogprobs: boolean
  /** Events, and last what ended them. */
  readonly events: AsyncIterable<GenerateEvent | GenerationEnd>
}

export interface GenerationEnd extends GenerateEnd {
  readonly kind: 'end'
}

export class GenerateService {
  readonly #parts: ServiceParts

  constructor(parts: ServiceParts) {
    this.#parts = parts
  }

  modelNames(): string[] {
    return this.#parts.catalog.ofKind('generator').map(({ name }) => name)
  }

  /** Nothing runs before the first event is asked for; leaving the iteration ends the run. */
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

/** What is far too long is refused before a worker tokenizes it. */
function checkLength({ maxTokens }: GeneratorSpec, { messages }: GenerateRequest): void {
  const chars = messages.reduce((sum, { content }) => sum + content.length, 0)
  const charsMax = maxTokens * CHARS_PER_TOKEN_MAX
  if (chars <= charsMax) return
  const message = `messages: they have ${chars} characters, and the model takes ${maxTokens} tokens, which have ${charsMax} at most; send fewer or shorter ones`
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

  /** The next event; what failed is thrown after the events before it. */
  async take(): Promise<Event> {
    for (;;) {
      const event = this.#events.shift()
      if (event !== undefined) return event
      if (this.#failure !== undefined) throw this.#failure.error
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}
