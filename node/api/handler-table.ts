// Every operation of the contract and who handles it; test/contract compares both with the files.

import { batchWrite } from './handlers/batch-write.ts'
import { commitTransaction } from './handlers/commit-transaction.ts'
import { createIndex } from './handlers/create-index.ts'
import { createTable } from './handlers/create-table.ts'
import { crossTableBatch } from './handlers/cross-table-batch.ts'
import { dropIndex } from './handlers/drop-index.ts'
import { dropTable } from './handlers/drop-table.ts'
import { getContract } from './handlers/get-contract.ts'
import { getDocs } from './handlers/get-docs.ts'
import { getHealth } from './handlers/get-health.ts'
import { getIndex } from './handlers/get-index.ts'
import { getStatus } from './handlers/get-status.ts'
import { getTable } from './handlers/get-table.ts'
import { listIndexes } from './handlers/list-indexes.ts'
import { listTables } from './handlers/list-tables.ts'
import { lookupDocument } from './handlers/lookup-document.ts'
import { mergeTable } from './handlers/merge-table.ts'
import { queryGlobal } from './handlers/query-global.ts'
import { queryTable } from './handlers/query-table.ts'
import { scanTable } from './handlers/scan-table.ts'
import { searchTable } from './handlers/search-table.ts'
import { updateTableSchema } from './handlers/update-table-schema.ts'
import type { Handler } from './operation.ts'

export const handlerByOperation: ReadonlyMap<string, Handler> = new Map(
  Object.entries({
    batchWrite,
    commitTransaction,
    createIndex,
    createTable,
    crossTableBatch,
    dropIndex,
    dropTable,
    getContract,
    getDocs,
    getHealth,
    getIndex,
    getStatus,
    getTable,
    listIndexes,
    listTables,
    lookupDocument,
    mergeTable,
    queryGlobal,
    queryTable,
    scanTable,
    searchTable,
    updateTableSchema,
  }),
)
