// One million documents of 1 KiB, loaded once and used by several rows.

import type { Bench } from '../suite.ts'
import { readProcessMemory } from '../process-memory.ts'
import type { ProcessMemory } from '../process-memory.ts'
import { sendDocuments } from './load-table.ts'
import { createTable, startQuarry } from './quarry-server.ts'
import type { QuarryServer } from './quarry-server.ts'

const DOCUMENTS = 1_000_000
const DATA = 'large'
export const LARGE_TABLE = 'large'

interface Loaded {
  readonly server: QuarryServer
  readonly memoryAfterLoading: ProcessMemory
  readonly docsPerSecond: number
}

/** One million documents, which are loaded when the first row needs them. */
export class LargeStore implements AsyncDisposable {
  readonly documents: number
  readonly #bench: Bench
  #loaded: Promise<Loaded> | undefined

  constructor(bench: Bench) {
    this.#bench = bench
    this.documents = bench.quick ? DOCUMENTS / 10 : DOCUMENTS
  }

  /** The server that loaded them, loading first if no row has needed them yet. */
  loaded(): Promise<Loaded> {
    this.#loaded ??= this.#load()
    return this.#loaded
  }

  /** Starts a server over the same data; the one before must have been stopped. */
  startAgain(): Promise<QuarryServer> {
    return startQuarry(this.#bench, DATA)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#loaded === undefined) return
    const { server } = await this.#loaded
    await server[Symbol.asyncDispose]()
  }

  async #load(): Promise<Loaded> {
    const bench = this.#bench
    bench.progress(`loading ${this.documents} documents of 1 KiB`)
    const server = await startQuarry(bench, DATA)
    await createTable(server, LARGE_TABLE)
    const { elapsedMs } = await sendDocuments(bench, server, {
      table: LARGE_TABLE,
      shape: 'kilobyte',
      documents: this.documents,
    })
    return {
      server,
      memoryAfterLoading: await readProcessMemory(server.process.pid),
      docsPerSecond: (this.documents / elapsedMs) * 1000,
    }
  }
}
