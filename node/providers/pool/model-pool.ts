// Models that are open. Equal configurations share one, and with it the pace at which its provider may be asked.
//
// Invariants:
//   MP1  A model with users stays open until the pool closes.
//   MP2  Of those without, at most `keptMax` stay: the one that was used longest ago closes first.

import { configurationKey } from '../config/configuration-key.ts'

/** What a pool can keep. */
export interface PooledModel {
  close(): Promise<void>
}

/** A model in use. `giveBack` is called once, when it is used no longer. */
export interface LentModel<Model> {
  readonly model: Model
  giveBack(): Promise<void>
}

interface Shared<Model> {
  readonly model: Model
  users: number
}

/** The models of one task on a node. Nothing is asked of a provider to open one. */
export class ModelPool<
  Config extends object,
  Model extends PooledModel,
> implements AsyncDisposable {
  readonly #open: (config: Config) => Model
  readonly #keptMax: number
  /** By configuration, the one used last at the end. */
  readonly #shared = new Map<string, Shared<Model>>()

  /** `keptMax` bounds the models without users: where clients choose configurations, it is how many are kept at all. */
  constructor(open: (config: Config) => Model, keptMax: number) {
    this.#open = open
    this.#keptMax = keptMax
  }

  /** How many models are open. */
  get size(): number {
    return this.#shared.size
  }

  lend(config: Config): LentModel<Model> {
    const key = configurationKey(config)
    const shared = this.#shared.get(key) ?? { model: this.#open(config), users: 0 }
    this.#shared.delete(key)
    this.#shared.set(key, shared)
    shared.users += 1
    return {
      model: shared.model,
      giveBack: async () => {
        shared.users -= 1
        await this.#closeOld()
      },
    }
  }

  /** Lends the model of a configuration for one call. */
  async use<Answer>(config: Config, call: (model: Model) => Promise<Answer>): Promise<Answer> {
    const lent = this.lend(config)
    try {
      return await call(lent.model)
    } finally {
      await lent.giveBack()
    }
  }

  /** Closes all models, in use or not. */
  async [Symbol.asyncDispose](): Promise<void> {
    const all = [...this.#shared.values()]
    this.#shared.clear()
    for (const { model } of all) await model.close()
  }

  async #closeOld(): Promise<void> {
    const idle = [...this.#shared].filter(([, { users }]) => users === 0)
    const old = idle.slice(0, Math.max(0, idle.length - this.#keptMax))
    for (const [key] of old) this.#shared.delete(key)
    for (const [, { model }] of old) await model.close()
  }
}
