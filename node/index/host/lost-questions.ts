// Questions at which a worker hung or ended. After the second time the question is refused: it would
// end the worker again, and every other call of the worker fails with it.

import { createHash } from 'node:crypto'
import { serialize } from 'node:v8'

const LOSSES_MAX = 2
const REMEMBERED_MAX = 100
const SHOWN_LENGTH_MAX = 200

/** What makes two questions the same one; undefined for what is never refused. */
export type Identity = readonly unknown[] | undefined

/** Counts how often workers were lost at the same question. */
export class LostQuestions {
  readonly #losses = new Map<string, number>()

  /** True as long as no question was lost: callers need not compute an identity then. */
  get isEmpty(): boolean {
    return this.#losses.size === 0
  }

  /** Counts a loss. Answers a description of the question if it is refused from now on. */
  lose(identity: Identity): string | undefined {
    if (identity === undefined) return undefined
    const hash = hashOf(identity)
    const losses = (this.#losses.get(hash) ?? 0) + 1
    this.#losses.delete(hash)
    this.#losses.set(hash, losses)
    const [oldest] = this.#losses.keys()
    if (this.#losses.size > REMEMBERED_MAX && oldest !== undefined) this.#losses.delete(oldest)
    if (losses !== LOSSES_MAX) return undefined
    return JSON.stringify(identity).slice(0, SHOWN_LENGTH_MAX)
  }

  isRefused(identity: Identity): boolean {
    return identity !== undefined && (this.#losses.get(hashOf(identity)) ?? 0) >= LOSSES_MAX
  }
}

function hashOf(identity: readonly unknown[]): string {
  return createHash('sha256').update(serialize(identity)).digest('base64')
}
