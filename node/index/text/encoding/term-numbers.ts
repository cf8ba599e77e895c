/** Some characters of a term decide which of the maps holds it. */
const SHARDS = 16

/**
 * Numbers by term. A growing map is rehashed as a whole from time to time. For a million terms that
 * takes as long as a whole slice, so several smaller maps share the terms.
 */
export class TermNumbers {
  readonly #shards: (Map<string, number> | undefined)[] = []

  get(term: string): number | undefined {
    return this.#shards[shardOf(term)]?.get(term)
  }

  set(term: string, number: number): void {
    const shard = shardOf(term)
    const map = this.#shards[shard] ?? new Map<string, number>()
    this.#shards[shard] = map
    map.set(term, number)
  }
}

/** The last two characters differ most. */
function shardOf(term: string): number {
  const { length } = term
  if (length < 2) return length
  return (term.charCodeAt(length - 1) + 7 * term.charCodeAt(length - 2)) % SHARDS
}
