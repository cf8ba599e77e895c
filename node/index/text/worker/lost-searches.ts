// Searches that a worker hung or ended at. What did so twice is refused: it would do so again, and
// every search of every index in the worker fails with it.

import { createHash } from 'node:crypto'
import { serialize } from 'node:v8'
import type { RequestOf, TextWorkerCallKind } from './protocol.ts'

const LOSSES_MAX = 2
const REMEMBERED_MAX = 100
const SHOWN_LENGTH_MAX = 200

interface SentSearch {
  readonly kind: TextWorkerCallKind
  readonly request: RequestOf<TextWorkerCallKind>
}

export class LostSearches {
  readonly #losses = new Map<string, number>()

  /** Answers the search in words if it is refused from now on. */
  lose(sent: SentSearch): string | undefined {
    const asked = askedBy(sent)
    if (asked === undefined) return undefined
    const hash = hashOf(asked)
    const losses = (this.#losses.get(hash) ?? 0) + 1
    this.#losses.delete(hash)
    this.#losses.set(hash, losses)
    const [oldest] = this.#losses.keys()
    if (this.#losses.size > REMEMBERED_MAX && oldest !== undefined) this.#losses.delete(oldest)
    if (losses !== LOSSES_MAX) return undefined
    return JSON.stringify(asked).slice(0, SHOWN_LENGTH_MAX)
  }

  isRefused(sent: SentSearch): boolean {
    if (this.#losses.size === 0) return false
    const asked = askedBy(sent)
    return asked !== undefined && (this.#losses.get(hashOf(asked)) ?? 0) >= LOSSES_MAX
  }
}

/** What makes two searches the same one; undefined for what is no search. */
function askedBy({ request }: SentSearch): readonly unknown[] | undefined {
  if (request === undefined) return undefined
  if ('search' in request) {
    const { conditions, order, aggregations } = request.search
    return [conditions, order, [...aggregations]]
  }
  return 'statistics' in request ? [request.statistics.conditions] : undefined
}

function hashOf(asked: readonly unknown[]): string {
  return createHash('sha256').update(serialize(asked)).digest('base64')
}
