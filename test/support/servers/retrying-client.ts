// A client of a store of several nodes, as the contract tells clients to be: what has no certain answer is sent
// again, to the next node and with the same Idempotency-Key, until it has one.

import { randomUUID } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConnectionLost, StoreClient, type Answer } from './store-client.ts'

const PAUSE_MS = 50
/** Longer than any failover. */
const RETRIES_MS_MAX = 120_000
/** The outcome is unknown, or nothing happened: the contract asks for a retry. */
const RETRIED = [503, 504]
/** The requests that the contract lets clients name. */
const NAMED = /\/(?:batch|commit)$/

export class RetryingClient extends StoreClient {
  readonly #gone: AbortSignal
  #retries = 0

  /** When `gone` aborts, nothing is repeated any more: what is under way rejects with ConnectionLost. */
  constructor(api: () => string, gone: AbortSignal) {
    super(api)
    this.#gone = gone
  }

  get retries(): number {
    return this.#retries
  }

  override async send(
    method: string,
    path: string,
    body?: unknown,
    headers: OutgoingHttpHeaders = {},
  ): Promise<Answer> {
    const named = NAMED.test(path) ? { 'idempotency-key': randomUUID() } : {}
    const untilMs = performance.now() + RETRIES_MS_MAX
    for (;;) {
      const answer = await this.#attempt(method, path, body, { ...named, ...headers })
      if (!(answer instanceof ConnectionLost) && !isRetried(path, answer)) return answer
      if (this.#gone.aborted || performance.now() > untilMs) {
        if (answer instanceof ConnectionLost) throw answer
        throw new ConnectionLost(`${method} ${path}: ${answer.status} ${answer.text}`)
      }
      this.#retries += 1
      await sleep(PAUSE_MS)
    }
  }

  /** Without a node that runs, nobody can be asked. */
  async #attempt(...request: Parameters<StoreClient['send']>): Promise<Answer | ConnectionLost> {
    try {
      return await super.send(...request)
    } catch (error) {
      if (error instanceof ConnectionLost) return error
      throw error
    }
  }
}

/** A batch claims nothing about what it read, so a conflict is that its keys were held for too long: nothing changed. */
function isRetried(path: string, { status, text }: Answer): boolean {
  const isHeld = status === 409 && path.endsWith('/batch') && text.includes('"CONFLICT"')
  return isHeld || RETRIED.includes(status)
}
