// The rerankers that queries have asked lately. Equal configurations share one, and with it the pace at which its
// provider may be asked.

import { configurationKey } from '../../providers/config/configuration-key.ts'
import type { RerankerConfig } from '../../providers/config/provider-config.ts'
import type { Reranker } from '../../providers/contract/provider.ts'

/** Clients choose configurations, so the count of those that are kept is bounded. */
const KEPT_MAX = 64

export type OpenReranker = (config: RerankerConfig) => Reranker

interface Opened {
  readonly reranker: Reranker
  /** Calls under way: such a reranker stays. */
  calls: number
}

/** Keeps rerankers open between queries, up to a bound: the one that was asked longest ago goes first. */
export class OpenedRerankers implements AsyncDisposable {
  readonly #open: OpenReranker
  /** By configuration, the one asked last at the end. */
  readonly #opened = new Map<string, Opened>()

  constructor(open: OpenReranker) {
    this.#open = open
  }

  get size(): number {
    return this.#opened.size
  }

  /** Lends the reranker of a configuration for one call. */
  async use<Answer>(
    config: RerankerConfig,
    call: (reranker: Reranker) => Promise<Answer>,
  ): Promise<Answer> {
    const opened = this.#of(config)
    opened.calls += 1
    try {
      return await call(opened.reranker)
    } finally {
      opened.calls -= 1
      await this.#closeOld()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#opened.values()]
    this.#opened.clear()
    for (const { reranker } of all) await reranker.close()
  }

  #of(config: RerankerConfig): Opened {
    const key = configurationKey(config)
    const opened = this.#opened.get(key) ?? { reranker: this.#open(config), calls: 0 }
    this.#opened.delete(key)
    this.#opened.set(key, opened)
    return opened
  }

  async #closeOld(): Promise<void> {
    const idle = [...this.#opened].filter(([, { calls }]) => calls === 0)
    const old = idle.slice(0, Math.max(0, this.#opened.size - KEPT_MAX))
    for (const [key] of old) this.#opened.delete(key)
    for (const [, { reranker }] of old) await reranker.close()
  }
}
