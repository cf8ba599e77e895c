// What makes artifacts for the indexes of a shard, as the shard knows it. The enrichers themselves are in a layer
// above, because they ask models elsewhere.

/** A document whose artifact is parked. */
export interface ParkedDocument {
  readonly key: Buffer
  readonly attempts: number
  /** Why it could not be made. */
  readonly error: string
}

/** How far the artifacts of one index are on one shard. */
export interface EnrichmentStatus {
  /** Documents without an artifact of their present state: found ones, and those that nobody has looked at. */
  readonly pending: number
  /** Documents that have got an artifact since the leader took over. */
  readonly enriched: number
  /** Documents that failed for good, or until the model answers again. */
  readonly parked: number
  /** Documents among the pending ones whose last attempt failed. */
  readonly retrying: number
  /** Why artifacts cannot be made at the moment. */
  readonly error: string | undefined
  /** How much of the table has been looked at, from 0 to 1. */
  readonly progress: number
  /** Whether the table is being walked. */
  readonly rebuilding: boolean
  /** The first of the parked documents, as many as were asked for. */
  readonly parkedDocuments: readonly ParkedDocument[]
}

/** Makes the artifacts of one index on the leader of a shard. */
export interface IndexEnricher {
  /** The log entries above this one are still needed. */
  readonly neededAbove: number
  /** Documents whose artifacts are not made: those that were found, and those that the walk has still to look at. */
  readonly waiting: number
  /** Documents of which no artifact could be made. */
  readonly parked: number
  /** Why artifacts cannot be made at the moment; undefined when all is well. */
  readonly error: string | undefined
  /** Documents that a walk over the table has done, while there is one. */
  readonly documentsWalked: number
  /** The newest log entry when the last walk over the table ended; 0 before. */
  readonly walkedThrough: number
  /** `parkedMax`: how many parked documents to list. */
  status(parkedMax: number): Promise<EnrichmentStatus>
  /** Resolves when nothing of the shard is read or written any more. */
  close(): Promise<void>
}

/** The enrichers of one shard, by the ids of their indexes. */
export class ShardEnrichers {
  readonly #byIndex = new Map<string, IndexEnricher>()
  #listener: (() => void) | undefined
  #isEnded = false

  /** Whether the shard takes no further ones. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  /** `listener` is called when the indexes of the table may have changed; it replaces an earlier one. */
  onChanged(listener: () => void): void {
    this.#listener = listener
  }

  /** The indexes of the table may have changed. */
  changed(): void {
    this.#listener?.()
  }

  add(index: string, enricher: IndexEnricher): void {
    this.#byIndex.set(index, enricher)
  }

  remove(index: string): void {
    this.#byIndex.delete(index)
  }

  get(index: string): IndexEnricher | undefined {
    return this.#byIndex.get(index)
  }

  /** Closes all for good, because the shard is closed or dropped. */
  async end(): Promise<void> {
    this.#isEnded = true
    await Promise.all(this.#byIndex.values().map((enricher) => enricher.close()))
  }

  /** Infinity without an enricher. */
  get neededAbove(): number {
    return Math.min(Infinity, ...this.#byIndex.values().map(({ neededAbove }) => neededAbove))
  }
}
