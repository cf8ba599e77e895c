// One worker as the server sees it: calls with answers, and a life of its own.
//
//   starting ──ready──► up ──hangs──► ending ──exit──► down ──backoff──► starting
//   up ──hangs, in a thread──► hanging ──answers──► up
//   starting, up ──exit──► down
//   any of them ──close──► closed
//
// Invariants:
//   M1  Calls go to a worker that is up, and each is settled: answered, refused, or UNAVAILABLE
//       when the worker ended under it.
//   M2  A call that hangs (Q2) is given up, and ends the worker if it can be ended. A thread cannot,
//       because ending it inside the runtime would abort the server: it takes no calls until it has
//       answered, and what it has loaded too late is unloaded.

import { assert } from '../../lib/assert.ts'
import { backoffDelayMs } from '../../lib/backoff.ts'
import type { Clock } from '../../lib/clock.ts'
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

/** One that comes late on a busy machine is no cause for alarm. */
const SIGNS_PER_TIMEOUT = 8
const RESTART = { baseMs: 200, capMs: 30_000, retriesMax: Number.POSITIVE_INFINITY }

export interface ModelWorkerOptions {
  readonly entry: URL
  readonly isolation: Isolation
  readonly environment: Env
  readonly settings: Omit<WorkerSettings, 'alivePeriodMs'>
  /** What a worker process may allocate. */
  readonly memoryBytesMax: number
  /** A load that takes longer, or a step of anything else, counts as hanging. */
  readonly callTimeoutMs: number
  readonly closeDeadlineMs: number
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

export interface WorkerListener {
  /** The worker takes calls; it has no models. */
  onUp(): void
  /** It takes none, and its models are gone. */
  onDown(): void
}

type State = 'starting' | 'up' | 'hanging' | 'ending' | 'down' | 'closed'

export class ModelWorker {
  readonly #options: ModelWorkerOptions
  readonly #listener: WorkerListener
  readonly #pending: PendingCalls
  /** Calls that were given up but not ended. */
  readonly #overdue = new Map<number, Pick<Asked, 'kind' | 'model'>>()
  readonly #stop = new AbortController()
  readonly #ended = Promise.withResolvers<void>()
  #channel: WorkerChannel
  #state: State = 'starting'
  /** Ends since the last time that a call was answered. */
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

  get isUp(): boolean {
    return this.#state === 'up'
  }

  /** Resolves to what the opened model says about itself. */
  load<Info>(model: number, spec: unknown): Promise<Info> {
    return this.#call<Info>({ kind: 'load', model, spec })
  }

  unload(model: number): Promise<void> {
    return this.#call<void>({ kind: 'unload', model })
  }

  /** Outcomes are of the type that the model's runner gives them. */
  run(model: number, items: readonly unknown[], signal: AbortSignal): Promise<readonly never[]> {
    return this.#call<readonly never[]>({ kind: 'run', model, items }, { signal })
  }

  /** A stream may take as long as its client listens. */
  start<End>(
    model: number,
    request: unknown,
    { emit, signal }: { readonly emit: (event: never) => void; readonly signal: AbortSignal },
  ): Promise<End> {
    return this.#call<End>({ kind: 'start', model, request }, { emit, signal })
  }

  /** Waits for running calls within the deadline. */
  async close(): Promise<void> {
    const { clock, closeDeadlineMs } = this.#options
    if (this.#state === 'closed') return this.#ended.promise
    const wasDown = this.#state === 'down'
    this.#state = 'closed'
    this.#stop.abort()
    if (wasDown) return this.#ended.resolve()
    this.#channel.send({ kind: 'quit' })
    const inTime = new AbortController()
    const late = clock.sleep(closeDeadlineMs, inTime.signal).then(
      () => this.#channel.kill(),
      () => undefined, // it ended in time
    )
    await this.#ended.promise
    inTime.abort()
    await late
  }

  /** For tests: ends the worker as a native crash would. */
  crash(): void {
    this.#channel.kill()
  }

  #open(): WorkerChannel {
    const { entry, isolation, environment, memoryBytesMax, callTimeoutMs } = this.#options
    const alivePeriodMs = Math.ceil(callTimeoutMs / SIGNS_PER_TIMEOUT)
    const settings = { ...this.#options.settings, alivePeriodMs }
    return openWorkerChannel(
      { entry, isolation, environment, memoryBytesMax, settings },
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

  /** Whoever asked for the load has been told that it failed. */
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
