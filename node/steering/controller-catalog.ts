import type { CatalogKeys } from '../controller/shell/cluster-feed.ts'
import { decodeTable, SHARD_PREFIX, TABLE_PREFIX } from '../catalog/records/table-record.ts'

/** How the controller reads the catalog: which tables there are, and how each wants to be replicated. */
export const CONTROLLER_CATALOG: CatalogKeys = {
  tablePrefix: TABLE_PREFIX,
  shardPrefix: SHARD_PREFIX,
  readTable: ({ value }) => {
    const { tableId, replication } = decodeTable(value)
    return { tableId, replication }
  },
}
