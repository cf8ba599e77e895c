// What indexes keep of documents, read at the leader.

import { SliceClock } from '../../lib/sliced.ts'
import { ordinalOfArtifact } from '../embedding/artifact.ts'
import type { ArtifactWrite } from '../embedding/written-embeddings.ts'
import type { Hold } from './apply/lock-table.ts'
import { ordinalOf, type DocumentRecord } from './format/document-record.ts'
import { artifactKey } from './format/keyspace.ts'
import { isVisible } from './format/visibility.ts'
import type { HolderReader } from './holder-reader.ts'
import type { Replica } from './replica.ts'
import type { ArtifactsAsked, FoundArtifacts } from './shard.ts'

/** An answer that has reached a mebibyte takes no further document. */
const ANSWER_BYTES_MAX = 1024 * 1024

/** Reads artifacts beside the newest committed documents. It changes nothing. */
export class ArtifactReads {
  readonly #replica: Replica
  readonly #holders: HolderReader

  constructor(replica: Replica, holders: HolderReader) {
    this.#replica = replica
    this.#holders = holders
  }

  /**
   * The store holds every durable entry then, because artifacts have no overlay. An artifact whose document has
   * another ordinal, or none, is dead.
   */
  async read({ keys, indexes }: ArtifactsAsked): Promise<readonly FoundArtifacts[]> {
    const { log, options, state } = this.#replica
    const { locks } = state.memory
    const heldBefore = new Set(keys.filter((key) => locks.writer(key) !== undefined))
    await log.settled()
    const slice = new SliceClock(options.clock)
    const found: FoundArtifacts[] = []
    let bytes = 0
    for (const key of keys) {
      if (slice.isOver) await slice.turn()
      const hold = locks.writer(key)
      // A transaction that was acknowledged before the call may have been resolved since, and not be in the store yet.
      if (hold === undefined && heldBefore.has(key)) await log.settled()
      const live = hold === undefined ? this.#stored(key, indexes) : await this.#held(hold, indexes)
      found.push(live)
      bytes += live.reduce((sum, artifact) => sum + (artifact?.length ?? 0), 0)
      if (bytes >= ANSWER_BYTES_MAX) break
    }
    return found
  }

  #stored(key: Buffer, indexes: readonly string[]): FoundArtifacts {
    const record = this.#document(key)
    const ordinal = record === undefined ? undefined : ordinalOf(record)
    if (ordinal === undefined) return indexes.map(() => undefined)
    return indexes.map((index) => {
      const artifact = this.#replica.store.get(artifactKey(index, key))
      const isLive = artifact !== undefined && ordinalOfArtifact(artifact) === ordinal
      return isLive ? artifact : undefined
    })
  }

  #document(key: Buffer): DocumentRecord | undefined {
    const { state, ttl, nowMs } = this.#replica
    const record = state.overlay.visible(key)
    return record !== undefined && isVisible(record, ttl, nowMs) ? record : undefined
  }

  /** The artifacts as the transaction that holds the key leaves them, if it has committed. */
  async #held(hold: Hold, indexes: readonly string[]): Promise<FoundArtifacts> {
    const { op } = hold.intent
    const isCommitted = await this.#holders.hasCommitted(hold)
    const before = this.#stored(hold.key, indexes)
    if (!isCommitted) return before
    if (op.kind === 'delete') return indexes.map(() => undefined)
    const written = op.kind === 'lock' ? undefined : op.artifacts
    return written === undefined ? before : overlaid(before, indexes, written)
  }
}

function overlaid(
  before: FoundArtifacts,
  indexes: readonly string[],
  written: readonly ArtifactWrite[],
): FoundArtifacts {
  const byIndex = new Map(written.map(({ index, artifact }) => [index, artifact]))
  return indexes.map((index, at) => (byIndex.has(index) ? byIndex.get(index) : before[at]))
}
