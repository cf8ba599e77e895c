// Keys by which the leaders of a dropped table's shards say that no transaction is open there any more.
// Described in docs/reference/formats/catalog.md.

import type { ShardId } from '../../shard/shard-id.ts'

const PREFIX = '/table-ends/'

export function endedPrefix(tableId: string): string {
  return `${PREFIX}${tableId}/`
}

export function endedKey(tableId: string, id: ShardId): string {
  return endedPrefix(tableId) + id
}
