/** Collects over the searches of one query how many documents their answers may lack, by index. */
export class BehindIndexes<Shard> {
  readonly #byIndex = new Map<string, Map<Shard, number>>()

  /** Several searches of one index of a shard may lack the same documents, so the greatest number counts. */
  note(index: string, shard: Shard, documents: number): void {
    const shards = this.#byIndex.get(index) ?? new Map<Shard, number>()
    this.#byIndex.set(index, shards)
    shards.set(shard, Math.max(documents, shards.get(shard) ?? 0))
  }

  /** By index, over all shards; undefined if nothing is missing. */
  get documents(): Readonly<Record<string, number>> | undefined {
    if (this.#byIndex.size === 0) return undefined
    const sums = [...this.#byIndex].map(
      ([index, shards]) => [index, shards.values().reduce((sum, one) => sum + one, 0)] as const,
    )
    return Object.fromEntries(sums)
  }

  /** One sentence for each index. */
  get warnings(): readonly string[] {
    return Object.entries(this.documents ?? {}).map(([index, documents]) => {
      const shown = documents === 1 ? '1 document' : `${documents} documents`
      return `index "${index}" is ${shown} behind: the answer may lack them, or show what they were before`
    })
  }
}
