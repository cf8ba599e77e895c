// The embedders that are open. Those who share one share what is known of its answers, too.

import type { EmbedderConfig } from '../config/provider-config.ts'
import type { EmbedOptions, EmbedPart, Embedder } from '../contract/provider.ts'
import { unavailable } from '../contract/provider-error.ts'
import { ModelPool, type LentModel } from './model-pool.ts'

/** Opens the embedder of a configuration. */
export type OpenEmbedder = (config: EmbedderConfig) => Embedder

/** Lends embedders. An embedder closes when its last borrower has given it back. */
export class EmbedderPool implements AsyncDisposable {
  readonly #pool: ModelPool<EmbedderConfig, Embedder>

  constructor(open: OpenEmbedder) {
    this.#pool = new ModelPool(open, 0)
  }

  /** How many embedders are open. */
  get size(): number {
    return this.#pool.size
  }

  /** The embedder of a configuration. Its `close` gives it back, and then it takes no calls. */
  borrow(config: EmbedderConfig): Embedder {
    return new BorrowedEmbedder(this.#pool.lend(config))
  }

  /** Closes all embedders, borrowed or not. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]()
  }
}

class BorrowedEmbedder implements Embedder {
  readonly #lent: LentModel<Embedder>
  readonly #closing = new AbortController()

  constructor(lent: LentModel<Embedder>) {
    this.#lent = lent
  }

  get name(): string {
    return this.#lent.model.name
  }

  get acceptsImages(): boolean {
    return this.#lent.model.acceptsImages
  }

  async embed(
    items: readonly (readonly EmbedPart[])[],
    options: EmbedOptions,
  ): Promise<readonly Float32Array[]> {
    this.#closing.signal.throwIfAborted()
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    return this.#lent.model.embed(items, { ...options, signal })
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort(unavailable(`${this.name}: the embedder is closed`))
    await this.#lent.giveBack()
  }
}
