// Writers that never stop: what they see of a change in the cluster is what its clients see.

import type { Clock } from '../../lib/clock.ts'
import { must } from '../../lib/assert.ts'
import { Connection } from '../load/connection.ts'
import type { NextRequest } from '../load/requests.ts'
import type { Bench } from '../suite.ts'

const RETRY_MS = 10

/** An acknowledged write. */
interface Acknowledged {
  /** When it was sent first; later attempts belong to it. */
  readonly sentMs: number
  readonly answeredMs: number
}

/** Closed loops, each with a connection to one node. A write that fails is sent again until it succeeds. */
export class SteadyWriters {
  readonly #clock: Clock
  readonly #acknowledged: Acknowledged[][] = []
  readonly #running: readonly Promise<void>[]
  #failures = 0
  #isStopped = false

  constructor({ clock }: Bench, origins: readonly string[], next: NextRequest) {
    this.#clock = clock
    this.#running = origins.map((origin, writer) => {
      this.#acknowledged[writer] = []
      return this.#run(origin, next, must(this.#acknowledged[writer], 'the list of a writer'))
    })
  }

  /** Attempts that were refused or lost, of all writers. */
  get failures(): number {
    return this.#failures
  }

  /** Resolves when each writer has written `count` documents from now on. */
  async progress(count: number): Promise<void> {
    const before = this.#acknowledged.map(({ length }) => length)
    const isDone = (): boolean =>
      this.#acknowledged.every(({ length }, writer) => length >= (before[writer] ?? 0) + count)
    while (!isDone()) await this.#clock.sleep(RETRY_MS)
  }

  /** From `sinceMs` until every writer had an acknowledgement of a write that it sent later, in ms. */
  resumedAfterMs(sinceMs: number): number {
    const resumed = this.#acknowledged.map((all) => {
      return all.find(({ answeredMs }) => answeredMs > sinceMs)?.answeredMs ?? Infinity
    })
    return Math.max(...resumed) - sinceMs
  }

  /** The longest time that a write of any writer took, of those that were under way after `sinceMs`. */
  longestMs(sinceMs: number): number {
    const all = this.#acknowledged.flat().filter(({ answeredMs }) => answeredMs > sinceMs)
    return Math.max(...all.map(({ sentMs, answeredMs }) => answeredMs - sentMs))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  async #run(origin: string, next: NextRequest, acknowledged: Acknowledged[]): Promise<void> {
    const line: Line = { origin, connection: undefined }
    while (!this.#isStopped) {
      const request = must(next(), 'a request')
      const sentMs = this.#clock.monotonicMs()
      let isDone = await isAcknowledged(line, request)
      while (!isDone && !this.#isStopped) {
        this.#failures += 1
        await this.#clock.sleep(RETRY_MS)
        isDone = await isAcknowledged(line, request)
      }
      if (isDone) acknowledged.push({ sentMs, answeredMs: this.#clock.monotonicMs() })
    }
    line.connection?.close()
  }
}

/** A writer's connection, which is opened again after it was lost. */
interface Line {
  readonly origin: string
  connection: Connection | undefined
}

async function isAcknowledged(line: Line, request: Buffer): Promise<boolean> {
  try {
    line.connection ??= await Connection.open(line.origin)
    const { status } = await line.connection.exchange(request)
    return status < 300
  } catch {
    line.connection?.close()
    line.connection = undefined
    return false
  }
}
