// Writes committed entries into the store, in the background. If the store refuses, the feed tries again
// every RETRY_MS. Reads do not notice, because the overlay holds the records that the store lacks.

import type { Clock } from '../../lib/clock.ts'
import { messageOf, ServiceError } from '../../lib/errors.ts'
import type { AppliedCommand, ShardState } from './shard-state.ts'
import { StoreApplier } from './store-applier.ts'

const RETRY_MS = 250
/**
 * The feed gathers small writes this long, because one wake-up of the store's thread costs as much as
 * many of them. A caller that waits for the store ends the gathering.
 */
const GATHER_MS = 5
const GATHERED_BYTES_MAX = 256 * 1024

/** What the feed works with. */
export interface StoreFeedOptions {
  readonly state: ShardState
  readonly clock: Clock
  /** Called when the backlog has shrunk. */
  readonly onRoom: () => void
}

interface Waiter {
  readonly sequence: number
  readonly isPatient: boolean
  resolve(): void
  reject(error: unknown): void
}

/** Writes committed commands into the store in the order of the log. `bytes` counts what is left. */
export class StoreFeed {
  readonly #with: StoreFeedOptions
  readonly #closing = new AbortController()
  #waiting: AppliedCommand[] = []
  #bytes = 0
  #running: Promise<void> | undefined
  #isClosing = false
  #trouble: ServiceError | undefined
  #waiters: Waiter[] = []
  /** Ends the gathering that is under way. */
  #gathered: (() => void) | undefined

  constructor(options: StoreFeedOptions) {
    this.#with = options
  }

  /** The bytes that are committed and not in the store. */
  get bytes(): number {
    return this.#bytes
  }

  /** Why the store refuses at the moment. */
  get trouble(): ServiceError | undefined {
    return this.#trouble
  }

  add(commands: readonly AppliedCommand[], bytes: number): void {
    if (commands.length === 0) return
    for (const command of commands) this.#waiting.push(command)
    this.#bytes += bytes
    this.#running ??= this.#run()
    if (this.#isUrgent) this.hurry()
  }

  /** Nothing more is gathered before the next write. */
  hurry(): void {
    this.#gathered?.()
  }

  /** Resolves when the store holds the entry; rejects while the store refuses, or after the end. */
  async reached(sequence: number): Promise<void> {
    if (this.#trouble !== undefined) throw this.#trouble
    await this.#wait(sequence, false)
  }

  /** Like `reached`, but waits until the store accepts again. */
  async reachedInTheEnd(sequence: number): Promise<void> {
    await this.#wait(sequence, true)
  }

  async #wait(sequence: number, isPatient: boolean): Promise<void> {
    if (this.#with.state.appliedSequence >= sequence) return
    if (this.#closing.signal.aborted) throw closedError()
    const waiter = { sequence, isPatient, ...Promise.withResolvers<void>() }
    this.#waiters.push(waiter)
    this.hurry()
    await waiter.promise
  }

  /** Carries over what is left, unless the store refuses it. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.hurry()
    if (this.#trouble !== undefined) this.#closing.abort()
    await this.#running
    this.#closing.abort()
    this.#refuseAll(closedError())
  }

  async #run(): Promise<void> {
    const { overlay } = this.#with.state
    while (this.#waiting.length > 0) {
      if (!this.#isUrgent) await this.#gather()
      const commands = this.#waiting
      const bytes = this.#bytes
      this.#waiting = []
      overlay.beginApplying()
      const isDone = await this.#apply(commands)
      if (!isDone) break
      overlay.endApplying()
      this.#bytes -= bytes
      const last = commands.at(-1)?.entry.position.sequence
      if (last !== undefined) this.#with.state.publishApplied(last)
      this.#wake()
      this.#with.onRoom()
    }
    this.#running = undefined
  }

  get #isUrgent(): boolean {
    return this.#bytes >= GATHERED_BYTES_MAX || this.#waiters.length > 0 || this.#isClosing
  }

  async #gather(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#gathered = resolve
    void this.#with.clock.sleep(GATHER_MS).then(resolve)
    await promise
    this.#gathered = undefined
  }

  /** False when the feed was closed while the store refused. */
  async #apply(commands: readonly AppliedCommand[]): Promise<boolean> {
    for (let tries = 0; ; tries++) {
      try {
        // A write that failed may be in the store all the same.
        await this.#write(commands, tries === 0 ? 0 : this.#with.state.storedPosition().sequence)
        this.#trouble = undefined
        return true
      } catch (error) {
        this.#trouble = troubleOf(error)
        this.#refuseImpatient(this.#trouble)
      }
      if (this.#isClosing) return false
      const { clock } = this.#with
      await clock.sleep(RETRY_MS, this.#closing.signal).catch(() => undefined)
      if (this.#closing.signal.aborted) return false
    }
  }

  /** Writes the commands above a sequence number. */
  async #write(commands: readonly AppliedCommand[], above: number): Promise<void> {
    const applier = new StoreApplier(this.#with.state.store)
    for (const { entry, bytes } of commands) {
      if (entry.position.sequence <= above) continue
      const adding = applier.add(entry, bytes)
      if (adding !== undefined) await adding
    }
    await applier.flush()
  }

  #wake(): void {
    const { appliedSequence } = this.#with.state
    const reached = this.#waiters.filter(({ sequence }) => sequence <= appliedSequence)
    if (reached.length === 0) return
    this.#waiters = this.#waiters.filter(({ sequence }) => sequence > appliedSequence)
    for (const waiter of reached) waiter.resolve()
  }

  #refuseImpatient(error: ServiceError): void {
    const waiters = this.#waiters
    this.#waiters = waiters.filter(({ isPatient }) => isPatient)
    for (const waiter of waiters) if (!waiter.isPatient) waiter.reject(error)
  }

  #refuseAll(error: ServiceError): void {
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error)
  }
}

/** The refusal of every call after the close of a shard. */
export function closedError(): ServiceError {
  return new ServiceError(
    'UNAVAILABLE',
    'the shard is closed, because its node stops; try again later',
  )
}

function troubleOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error
  return new ServiceError('UNAVAILABLE', `the shard's store failed: ${messageOf(error)}`, {
    cause: error,
  })
}
