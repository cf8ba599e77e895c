// The worker's side of the protocol: it holds the loaded models and answers calls about them.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { assert, must, unreachable } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { ServiceError, isServiceError, messageOf } from '../../lib/errors.ts'
import { sentError, type SentError } from '../../lib/worker-calls.ts'
import { collected } from './large-payloads.ts'
import { OrderedSender, type OrderedSenderOptions } from './ordered-sender.ts'
import type { FromWorker, ToWorker, WorkerSettings } from './worker-protocol.ts'

/**
 * A loaded model in its worker. It has `run` if it answers batches, and `start` if it answers
 * streams.
 */
export interface ServedModel {
  /** The answer to `load`: the information that the server needs about the model. */
  readonly info: unknown
  /** Answers one outcome for each item. Ends early when the signal aborts. */
  run?(items: readonly never[], signal: AbortSignal): Promise<unknown>
  /** Emits events and resolves to the end of the stream. Ends early when the signal aborts. */
  start?(request: never, emit: (event: unknown) => void, signal: AbortSignal): Promise<unknown>
  /** Frees the model's memory. Called once, when no run is under way. */
  dispose(): Promise<void>
}

/** Opens the model that a spec describes. The server sent the spec. */
export type ModelOpener = (spec: never, settings: WorkerSettings) => Promise<ServedModel>

/** Serves the parent process or thread until it sends `quit` or ends. */
export function serveModels(open: ModelOpener): void {
  const settings: WorkerSettings = JSON.parse(must(process.argv[2], 'the settings of a worker'))
  const port = connectParent()
  const host = new WorkerHost(open, settings, port.post)
  const stopTelling = systemClock.every(settings.alivePeriodMs, async () => host.tellAlive())
  port.listen((message) => {
    if (message.kind === 'quit') void host.close().then(stopTelling).then(port.close)
    else host.handle(message)
  })
  port.post({ kind: 'ready' })
}

interface ParentPort {
  post(this: void, message: FromWorker): void
  listen(onMessage: (message: ToWorker<never>) => void): void
  close(this: void): void
}

function connectParent(): ParentPort {
  const port = parentPort
  if (port !== null) {
    const sender = senderBy((part) => {
      port.postMessage(part)
      return nextTurn()
    })
    return {
      post: (message) => sender.send(message),
      listen: (onMessage) => port.on('message', collected(onMessage)),
      close: () => void sender.drain().then(() => port.close()),
    }
  }
  // A server that died cannot send `quit`. A worker has no state that must be saved.
  process.on('disconnect', () => process.exit(0))
  // A supervisor may signal the whole process group; only the server ends its workers.
  process.on('SIGTERM', () => undefined)
  process.on('SIGINT', () => undefined)
  const sender = senderBy(async (part) => {
    await new Promise((resolve) => process.send?.(part, undefined, undefined, resolve))
  })
  return {
    post: (message) => sender.send(message),
    listen: (onMessage) => process.on('message', collected(onMessage)),
    close: () => void sender.drain().then(() => process.exit(0)),
  }
}

/** An answer that cannot be sent is replaced by a refusal, because each call must end (WP1). */
function senderBy(post: OrderedSenderOptions<FromWorker>['post']): OrderedSender<FromWorker> {
  const sender = new OrderedSender<FromWorker>({
    post,
    onRefused: (message) => {
      if (message.kind !== 'answer') return
      const { call } = message
      const error = new ServiceError('INFERENCE_FAILED', 'what the model answered cannot be sent')
      sender.send({ kind: 'refusal', call, error: sentError(error) })
    },
  })
  return sender
}

type Call = Exclude<ToWorker<never>, { readonly kind: 'quit' | 'cancel' }>

class WorkerHost {
  readonly #open: ModelOpener
  readonly #settings: WorkerSettings
  readonly #post: (message: FromWorker) => void
  readonly #models = new Map<number, ServedModel>()
  readonly #running = new Map<number, AbortController>()
  readonly #ends = new Set<Promise<void>>()

  constructor(open: ModelOpener, settings: WorkerSettings, post: (message: FromWorker) => void) {
    this.#open = open
    this.#settings = settings
    this.#post = post
  }

  handle(message: Call | Extract<ToWorker<never>, { readonly kind: 'cancel' }>): void {
    if (message.kind === 'cancel') {
      this.#running
        .get(message.call)
        ?.abort(new ServiceError('CANCELLED', 'the call was cancelled'))
      return
    }
    const end = this.#answer(message).finally(() => this.#ends.delete(end))
    this.#ends.add(end)
  }

  tellAlive(): void {
    if (this.#running.size > 0) this.#post({ kind: 'alive' })
  }

  async close(): Promise<void> {
    for (const controller of this.#running.values()) controller.abort()
    await Promise.all(this.#ends)
    for (const model of this.#models.values()) await model.dispose()
  }

  async #answer(message: Call): Promise<void> {
    const { call } = message
    const controller = new AbortController()
    this.#running.set(call, controller)
    try {
      const answer = await this.#perform(message, controller.signal)
      this.#post({ kind: 'answer', call, answer })
    } catch (error) {
      this.#post({ kind: 'refusal', call, error: refusalOf(error) })
    } finally {
      this.#running.delete(call)
    }
  }

  async #perform(message: Call, signal: AbortSignal): Promise<unknown> {
    switch (message.kind) {
      case 'load':
        return this.#load(message.model, message.spec)
      case 'unload':
        return this.#unload(message.model)
      case 'run': {
        const model = this.#modelOf(message)
        assert(model.run !== undefined, 'a model of batches')
        return model.run(message.items, signal)
      }
      case 'start': {
        const model = this.#modelOf(message)
        assert(model.start !== undefined, 'a model of streams')
        const { call } = message
        return model.start(
          message.request,
          (event) => this.#post({ kind: 'event', call, event }),
          signal,
        )
      }
      default:
        return unreachable(message)
    }
  }

  async #load(id: number, spec: never): Promise<unknown> {
    const model = await this.#open(spec, this.#settings)
    this.#models.set(id, model)
    return model.info
  }

  async #unload(id: number): Promise<void> {
    const model = this.#models.get(id)
    this.#models.delete(id)
    await model?.dispose()
  }

  #modelOf({ model }: { readonly model: number }): ServedModel {
    return must(this.#models.get(model), 'a loaded model')
  }
}

const MESSAGE_LENGTH_MAX = 1_000

/**
 * A worker has no clients of its own: an unexpected error is a failure of the model on this input.
 * Messages may quote templates and files of the model, so they are cut before anybody keeps them.
 */
function refusalOf(error: unknown): SentError {
  const text = messageOf(error)
  const message = (isServiceError(error) ? text : `the model failed: ${text}`)
    .slice(0, MESSAGE_LENGTH_MAX)
    .toWellFormed()
  return { code: isServiceError(error) ? error.code : 'INFERENCE_FAILED', message }
}
