// Reads PDFs, pages and images in a few processes of their own (document-process.ts).
//
// Invariants:
//   DR1  At most `processesMax` processes live, and each reads one document at a time.
//   DR2  A process that nobody has used for a while ends.

import type { Clock } from '../../lib/clock.ts'
import type { Env } from '../../lib/env.ts'
import { ServiceError } from '../../lib/errors.ts'
import { unlessAborted } from '../../lib/unless-aborted.ts'
import { DocumentProcess } from './document-process.ts'
import type { DocumentReading, DocumentRequest } from './document-protocol.ts'

const PROCESSES_MAX = 2
/** More documents are refused: each waits for those before it. */
const WAITING_MAX = 256
const IDLE_MS = 60_000

/** Where and how documents are read. */
export interface DocumentReaderOptions {
  readonly clock: Clock
  /** The server's environment, of which a reader gets what says how to run. */
  readonly environment: Env
  /** The time for one document, once a process has it. */
  readonly timeoutMs: number
  readonly processesMax?: number
}

/** Reads documents that may be hostile. `close` ends its processes. */
export class DocumentReader {
  readonly #options: DocumentReaderOptions
  readonly #processesMax: number
  readonly #idle: { readonly process: DocumentProcess; readonly stop: AbortController }[] = []
  readonly #waiting: (() => void)[] = []
  readonly #all = new Set<DocumentProcess>()
  #busy = 0

  constructor(options: DocumentReaderOptions) {
    this.#options = options
    this.#processesMax = options.processesMax ?? PROCESSES_MAX
  }

  /** The number of processes that live. */
  get processCount(): number {
    return this.#all.size
  }

  /** Rejects with OVERLOADED when too many documents wait, and with the signal's reason. */
  async read(
    bytes: Buffer,
    request: DocumentRequest,
    signal: AbortSignal,
  ): Promise<DocumentReading> {
    await this.#place(signal)
    const process = this.#process()
    try {
      return await process.read(bytes, request, signal)
    } finally {
      this.#release(process)
    }
  }

  async close(): Promise<void> {
    for (const { stop } of this.#idle.splice(0)) stop.abort()
    await Promise.all([...this.#all].map((process) => process.close()))
    this.#all.clear()
  }

  async #place(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#busy < this.#processesMax) {
      this.#busy += 1
      return
    }
    if (this.#waiting.length >= WAITING_MAX) {
      throw new ServiceError('OVERLOADED', 'too many documents wait to be read; try again later')
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    try {
      await unlessAborted(promise, signal)
    } catch (error) {
      const at = this.#waiting.indexOf(resolve)
      if (at === -1) this.#passOn()
      else this.#waiting.splice(at, 1)
      throw error
    }
  }

  #process(): DocumentProcess {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      idle.stop.abort()
      if (!idle.process.hasEnded) return idle.process
      this.#all.delete(idle.process)
    }
    const process = new DocumentProcess(this.#options)
    this.#all.add(process)
    return process
  }

  #release(process: DocumentProcess): void {
    if (process.hasEnded) this.#all.delete(process)
    else void this.#keep(process)
    this.#passOn()
  }

  /** Gives the place to the next document that waits. */
  #passOn(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#busy -= 1
    else next()
  }

  async #keep(process: DocumentProcess): Promise<void> {
    const stop = new AbortController()
    const entry = { process, stop }
    this.#idle.push(entry)
    try {
      await this.#options.clock.sleep(IDLE_MS, stop.signal)
    } catch {
      return // the thread is used again, or all threads are closed
    }
    this.#idle.splice(this.#idle.indexOf(entry), 1)
    this.#all.delete(process)
    await process.close()
  }
}
