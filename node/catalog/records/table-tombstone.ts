// What stays in the coordination store of a cluster after a table was dropped, until no node has anything of it.
// Format: docs/reference/formats/catalog.md.

import { ServiceError } from '../../../lib/errors.ts'
import { isText, isWhole, parseJsonRecord } from '../../../lib/json-record.ts'
import type { Change } from '../../coordination/coordination.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import { parseShardId, type ShardId } from '../../shard/shard-id.ts'

const FORMAT = 1
/** All of this lies under it. */
export const TOMBSTONES_PREFIX = '/tombstones/'
/** A tombstone lies under it and the id of its table. */
export const TOMBSTONE_PREFIX = `${TOMBSTONES_PREFIX}tables/`
/** Up to which tombstone a node has nothing of dropped tables lies under it and the node's id. */
export const CLEARED_PREFIX = `${TOMBSTONES_PREFIX}cleared/`

/** The commit that removes a table's record puts it. Neither the table nor a shard of these ids ever comes back. */
export function putTombstone(tableId: string, shards: readonly ShardId[]): Change {
  const value = Buffer.from(JSON.stringify({ format: FORMAT, shards }))
  return { type: 'put', key: TOMBSTONE_PREFIX + tableId, value }
}

export function putCleared(node: NodeId, revision: number): Change {
  const value = Buffer.from(JSON.stringify({ format: FORMAT, revision }))
  return { type: 'put', key: CLEARED_PREFIX + node, value }
}

/** The shards that the table had. */
export function decodeTombstone(bytes: Uint8Array): readonly ShardId[] {
  const { shards } = recordIn(bytes)
  if (!Array.isArray(shards) || !shards.every(isText)) throw damaged()
  return shards.map(parseShardId)
}

/** The revision of the newest tombstone that is cleared. */
export function decodeCleared(bytes: Uint8Array): number {
  const { revision } = recordIn(bytes)
  if (!isWhole(revision)) throw damaged()
  return revision
}

function recordIn(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  const record = parseJsonRecord(bytes)
  if (record?.['format'] !== FORMAT) throw damaged()
  return record
}

function damaged(): ServiceError {
  return new ServiceError('CORRUPTION', 'a tombstone of a table is damaged')
}
