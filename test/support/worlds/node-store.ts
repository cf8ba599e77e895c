import { ServiceError } from '../../../lib/errors.ts'
import type {
  Commit,
  CommitOutcome,
  Coordination,
  CoordinationEntry,
  CoordinationEvent,
  CoordinationListing,
} from '../../../node/coordination/coordination.ts'
import type { Lease } from '../../../node/coordination/lease.ts'

/**
 * One node's way to a coordination store that several nodes of a test share. The test can hold its
 * watches back, cut it off, and end its leases.
 */
export class NodeStore implements Coordination {
  readonly scope = 'cluster'
  readonly leases: Lease[] = []
  readonly commits: Commit[] = []
  readonly #store: Coordination
  #cut: ServiceError | undefined
  #held: PromiseWithResolvers<void> | undefined
  /** Answers of commits get lost: the next ones fail after they took effect. */
  lostAnswers = 0

  constructor(store: Coordination) {
    this.#store = store
  }

  /** Every call fails from now on, and watches bring nothing. */
  cut(error = new ServiceError('UNAVAILABLE', 'the store is away')): void {
    this.#cut = error
    this.holdWatches()
  }

  heal(): void {
    this.#cut = undefined
    this.releaseWatches()
  }

  holdWatches(): void {
    this.#held ??= Promise.withResolvers()
  }

  releaseWatches(): void {
    this.#held?.resolve()
    this.#held = undefined
  }

  /** The store ends the node's leases, as it does when it hears nothing of the node. */
  async expire(): Promise<void> {
    for (const lease of this.leases.splice(0)) await lease.revoke()
  }

  async get(key: string): Promise<CoordinationEntry | undefined> {
    this.#assertThere()
    return this.#store.get(key)
  }

  async list(prefix: string): Promise<CoordinationListing> {
    this.#assertThere()
    return this.#store.list(prefix)
  }

  async commit(commit: Commit): Promise<CommitOutcome> {
    this.#assertThere()
    this.commits.push(commit)
    const outcome = await this.#store.commit(commit)
    if (this.lostAnswers === 0) return outcome
    this.lostAnswers -= 1
    throw new ServiceError('UNAVAILABLE', 'the answer was lost')
  }

  async *watch(
    prefix: string,
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncGenerator<CoordinationEvent, void> {
    for await (const event of this.#store.watch(prefix, fromRevision, signal)) {
      while (this.#held !== undefined) {
        await Promise.race([this.#held.promise, abortOf(signal)])
        if (signal.aborted) return
      }
      yield event
    }
  }

  async grantLease(ttlSeconds: number): Promise<Lease> {
    this.#assertThere()
    const lease = await this.#store.grantLease(ttlSeconds)
    this.leases.push(lease)
    return lease
  }

  /** The shared store stays open. */
  async close(): Promise<void> {
    this.releaseWatches()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #assertThere(): void {
    if (this.#cut !== undefined) throw this.#cut
  }
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
