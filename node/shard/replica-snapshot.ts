// What a snapshot for another node takes from a replica. Format: docs/reference/formats/replica-snapshot.md.

import type { LogPosition } from '../journal/log-position.ts'
import type { KvSnapshot, KvStore } from '../storage/kv-store.ts'
import { decodeApplied, hasPart, LOG_START } from './format/applied-position.ts'
import { APPLIED_KEY } from './format/keyspace.ts'

/** The parts of a replica that a snapshot needs. */
export interface CopiedReplica {
  readonly store: KvStore
  readonly indexes: { linkFiles(directory: string): Promise<void> } | undefined
}

/** How far a store has been applied; undefined while it has a part of the next entry. */
export function readAppliedPosition(store: Pick<KvSnapshot, 'get'>): LogPosition | undefined {
  const stored = store.get(APPLIED_KEY)
  if (stored === undefined) return LOG_START
  if (hasPart(stored)) return undefined
  const { sequence, epoch, crc } = decodeApplied(stored)
  return { sequence, epoch, crc }
}

/** A replica as a source of snapshots knows it (SnapshotReplica). */
export function snapshotReplicaOf(replica: CopiedReplica) {
  return {
    store: replica.store,
    readPosition: readAppliedPosition,
    linkIndexes: async (directory: string): Promise<void> => {
      await replica.indexes?.linkFiles(directory)
    },
  }
}
