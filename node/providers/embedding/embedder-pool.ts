// The embedders that are open. Equal configurations share one, and with it its pace and what is known of its answers.

import type { EmbedderConfig } from '../config/provider-config.ts'
import { configurationKey } from '../config/configuration-key.ts'
import type { EmbedOptions, EmbedPart, Embedder } from '../contract/provider.ts'
import { unavailable } from '../contract/provider-error.ts'

/** Opens the embedder of a configuration. */
export type OpenEmbedder = (config: EmbedderConfig) => Embedder

interface Shared {
  readonly embedder: Embedder
  users: number
}

/** Lends embedders. An embedder closes when its last borrower has given it back. */
export class EmbedderPool implements AsyncDisposable {
  readonly #open: OpenEmbedder
  readonly #shared = new Map<string, Shared>()

  constructor(open: OpenEmbedder) {
    this.#open = open
  }

  /** How many embedders are open. */
  get size(): number {
    return this.#shared.size
  }

  /** The embedder of a configuration. Its `close` gives it back, and then it takes no calls. */
  borrow(config: EmbedderConfig): Embedder {
    const key = configurationKey(config)
    const shared = this.#shared.get(key) ?? { embedder: this.#open(config), users: 0 }
    this.#shared.set(key, shared)
    shared.users += 1
    return new BorrowedEmbedder(shared.embedder, async () => {
      shared.users -= 1
      if (shared.users > 0) return
      this.#shared.delete(key)
      await shared.embedder.close()
    })
  }

  /** Closes all embedders, borrowed or not. */
  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#shared.values()]
    this.#shared.clear()
    for (const { embedder } of all) await embedder.close()
  }
}

class BorrowedEmbedder implements Embedder {
  readonly #embedder: Embedder
  #giveBack: (() => Promise<void>) | undefined
  readonly #closing = new AbortController()

  constructor(embedder: Embedder, giveBack: () => Promise<void>) {
    this.#embedder = embedder
    this.#giveBack = giveBack
  }

  get name(): string {
    return this.#embedder.name
  }

  get acceptsImages(): boolean {
    return this.#embedder.acceptsImages
  }

  async embed(
    items: readonly (readonly EmbedPart[])[],
    options: EmbedOptions,
  ): Promise<readonly Float32Array[]> {
    this.#closing.signal.throwIfAborted()
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    return this.#embedder.embed(items, { ...options, signal })
  }

  async close(): Promise<void> {
    if (this.#giveBack === undefined) return
    const giveBack = this.#giveBack
    this.#giveBack = undefined
    this.#closing.abort(unavailable(`${this.name}: the embedder is closed`))
    await giveBack()
  }
}
