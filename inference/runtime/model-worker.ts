// The server's side of one worker: it sends calls, settles them, and restarts the worker when it ends.
//
//   starting ──ready──► up ──hangs──► ending ──exit──► down ──backoff──► starting
//   up ──hangs, in a thread──► hanging ──answers──► up
//   starting, up ──exit──► down
//   any of them ──close──► closed
//
// Invariants:
//   M1  Calls go to a worker that is up. Each call is settled: answered, refused, or rejected with
//       UNAVAILABLE when the worker ends first.
//   M2  A call that hangs (Q2) is given up, and its worker process is killed. A thread cannot be
//       killed, because ending it inside the runtime would abort the server. It takes no calls until
//       it has answered, and a model that it loads too late is unloaded.

import { assert } from '../../lib/assert.ts'
import { backoffDelayMs } from '../../lib/backoff.ts'
import type { Clock } from '../../lib/clock.ts'
import { prodWhenLate } from '../../lib/deadline.ts'
import type { Env } from '../../lib/env.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import { receivedError } from '../../lib/worker-calls.ts'
import { PendingCalls } from './pending-calls.ts'
import type { Asked } from './pending-calls.ts'
import { openWorkerChannel } from './worker-channel.ts'
import type { Isolation, WorkerChannel } from './worker-channel.ts'
import { WorkerEndedError, WorkerHangsError } from './worker-errors.ts'
import type { FromWorker, WorkerSettings } from './worker-protocol.ts'

/**
 * Several signs of life fit into one timeout, so a single late sign on a busy machine has no
 * effect.
 */
const SIGNS_PER_TIMEOUT = 8
const RESTART = { baseMs: 200, capMs: 30_000, retriesMax: Number.POSITIVE_INFINITY }

/** How to start a worker, and how long to wait for it. */
export interface ModelWorkerOptions {
  readonly entry: URL
  readonly isolation: Isolation
  readonly environment: Env
  /** The directories of models. */
  readonly readable: readonly string[]
  readonly settings: Omit<WorkerSettings, 'alivePeriodMs'>
  /** The bytes that a worker process may allocate. */
  readonly memoryBytesMax: number
  /** A call hangs when its load, or one step of any other call, takes longer. */
  readonly callTimeoutMs: number
  /** Running calls get this time when the worker is closed; then the worker is killed. */
  readonly closeDeadlineMs: number
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/**
 * Hears of the worker's life. `onUp` and `onDown` alternate, except that a thread that hung and
 * answered again calls `onUp` a second time.
 */
export interface WorkerListener {
  /** The worker takes calls. After a start it has no models. */
  onUp(): void
  /** The worker takes no calls, and its models are gone. It is restarted after a delay. */
  onDown(): void
}

type State = 'starting' | 'up' | 'hanging' | 'ending' | 'down' | 'closed'

/**
 * One worker with its restarts. Every call rejects with UNAVAILABLE while the worker is not up,
 * with DEADLINE_EXCEEDED when it hangs, and with the worker's own refusal otherwise.
 */
export class ModelWorker {
  readonly #options: ModelWorkerOptions
  readonly #listener: WorkerListener
  readonly #pending: PendingCalls
  /** Calls that were given up while their thread could not be ended. */
  readonly #overdue = new Map<number, Pick<Asked, 'kind' | 'model'>>()
  readonly #stop = new AbortController()
  readonly #ended = Promise.withResolvers<void>()
  #channel: WorkerChannel
  #state: State = 'starting'
  /** The number of times that the worker has ended since it last answered a call. */
  #failures = 0

  constructor(options: ModelWorkerOptions, listener: WorkerListener) {
    this.#options = options
    this.#listener = listener
    this.#pending = new PendingCalls({
      clock: options.clock,
      timeoutMs: options.callTimeoutMs,
      onHang: (call, asked) => this.#giveUp(call, asked),
    })
    this.#channel = this.#open()
  }

  /** Whether calls are accepted now. */
  get isUp(): boolean {
    return this.#state === 'up'
  }

  /**
   * Loads a model and resolves to the information that it gives about itself. `model` is a number
   * that the caller chooses and uses in later calls.
   */
  load<Info>(model: number, spec: unknown): Promise<Info> {
    return this.#call<Info>({ kind: 'load', model, spec })
  }

  /** Releases a model. It is also accepted while the worker hangs, and then waits its turn. */
  unload(model: number): Promise<void> {
    return this.#call<void>({ kind: 'unload', model })
  }

  /**
   * Runs a batch and resolves to one outcome for each item, of the type that the model's runner
   * gives.
   */
  run(model: number, items: readonly unknown[], signal: AbortSignal): Promise<readonly never[]> {
    return this.#call<readonly never[]>({ kind: 'run', model, items }, { signal })
  }

  /**
   * Runs a stream: `emit` receives its events, and the promise resolves to its end. A stream has no
   * time limit as a whole, because it lasts while its client reads.
   */
  start<End>(
    model: number,
    request: unknown,
    { emit, signal }: { readonly emit: (event: never) => void; readonly signal: AbortSignal },
  ): Promise<End> {
    return this.#call<End>({ kind: 'start', model, request }, { emit, signal })
  }

  /** Ends the worker. Running calls may end within the deadline. */
  async close(): Promise<void> {
    const { clock, closeDeadlineMs } = this.#options
    if (this.#state === 'closed') return this.#ended.promise
    const wasDown = this.#state === 'down'
    this.#state = 'closed'
    this.#stop.abort()
    if (wasDown) return this.#ended.resolve()
    this.#channel.send({ kind: 'quit' })
    const onLate = (): void => {
      this.#channel.kill()
    }
    await prodWhenLate(this.#ended.promise, { clock, ms: closeDeadlineMs, onLate })
  }

  /** For tests: ends the worker as a native crash does. */
  crash(): void {
    this.#channel.kill()
  }

  #open(): WorkerChannel {
    const { entry, isolation, environment, readable, memoryBytesMax, callTimeoutMs } = this.#options
    const alivePeriodMs = Math.ceil(callTimeoutMs / SIGNS_PER_TIMEOUT)
    const settings = { ...this.#options.settings, alivePeriodMs }
    return openWorkerChannel(
      { entry, isolation, environment, readable, memoryBytesMax, settings },
      {
        onMessage: (message) => this.#receive(message),
        onExit: (reason) => this.#onExit(reason),
      },
    )
  }

  #call<Answer>(
    asked: Asked,
    { emit, signal }: { emit?: (event: never) => void; signal?: AbortSignal } = {},
  ): Promise<Answer> {
    const isTaken = this.#state === 'up' || (this.#state === 'hanging' && asked.kind === 'unload')
    if (!isTaken) return Promise.reject(new WorkerEndedError('it is not up'))
    return this.#pending.call<Answer>(asked, {
      send: (call) => this.#channel.send({ ...asked, call }),
      cancel: (call) => this.#channel.send({ kind: 'cancel', call }),
      emit,
      signal,
    })
  }

  #giveUp(call: number, { kind, model }: Asked): void {
    const { callTimeoutMs, log } = this.#options
    log.error('inference worker hangs', { call: kind, timeoutMs: callTimeoutMs })
    const isEnding = this.#channel.kill()
    if (!isEnding) this.#overdue.set(call, { kind, model })
    if (this.#state === 'up') this.#state = isEnding ? 'ending' : 'hanging'
    this.#pending.refuse(call, new WorkerHangsError(callTimeoutMs))
  }

  /** The caller of this load was told that it failed, so nobody would use the model. */
  #unloadLate(call: number): void {
    const asked = this.#overdue.get(call)
    if (asked?.kind !== 'load') return
    this.unload(asked.model).catch(() => undefined) // the thread ended: that unloads too
  }

  #onLateAnswer(call: number): void {
    const asked = this.#overdue.get(call)
    if (asked === undefined) return
    this.#overdue.delete(call)
    if (this.#overdue.size > 0 || this.#state !== 'hanging') return
    this.#state = 'up'
    this.#options.log.warn('inference worker answers again', { call: asked.kind })
    this.#listener.onUp()
  }

  #receive(message: FromWorker<never>): void {
    switch (message.kind) {
      case 'ready':
        if (this.#state !== 'starting') return
        this.#state = 'up'
        this.#listener.onUp()
        return
      case 'alive':
        this.#pending.noteAlive()
        return
      case 'event':
        this.#pending.emit(message.call, message.event)
        return
      case 'answer':
        this.#failures = 0
        this.#pending.answer(message.call, message.answer)
        this.#unloadLate(message.call)
        this.#onLateAnswer(message.call)
        return
      case 'refusal':
        this.#pending.refuse(message.call, receivedError(message.error))
        this.#onLateAnswer(message.call)
    }
  }

  #onExit(reason: string): void {
    const isClosed = this.#state === 'closed'
    this.#pending.lose(new WorkerEndedError(reason))
    this.#overdue.clear()
    if (isClosed) return this.#ended.resolve()
    assert(this.#state !== 'down', 'a worker ends once')
    this.#state = 'down'
    this.#options.log.error('inference worker ended', { reason, failures: this.#failures })
    this.#listener.onDown()
    void this.#restart()
  }

  async #restart(): Promise<void> {
    const { clock, random } = this.#options
    const delayMs = backoffDelayMs(RESTART, this.#failures, random)
    this.#failures += 1
    try {
      await clock.sleep(delayMs, this.#stop.signal)
    } catch {
      return // closed meanwhile
    }
    this.#state = 'starting'
    this.#channel = this.#open()
  }
}
