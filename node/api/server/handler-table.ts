// Every operation of the contract and how it is answered; test/contract compares both with the files.

import { batchWrite } from '../handlers/batch-write.ts'
import { collectLeftovers } from '../handlers/collect-leftovers.ts'
import { commitTransaction } from '../handlers/commit-transaction.ts'
import { createIndex } from '../handlers/create-index.ts'
import { createTable } from '../handlers/create-table.ts'
import { crossTableBatch } from '../handlers/cross-table-batch.ts'
import { forgetNode } from '../handlers/forget-node.ts'
import { decommissionNode } from '../handlers/decommission-node.ts'
import { drainNode } from '../handlers/drain-node.ts'
import { dropIndex } from '../handlers/drop-index.ts'
import { dropTable } from '../handlers/drop-table.ts'
import { getContract } from '../handlers/get-contract.ts'
import { getDocs } from '../handlers/get-docs.ts'
import { getHealth } from '../handlers/get-health.ts'
import { getIndex } from '../handlers/get-index.ts'
import { getStatus } from '../handlers/get-status.ts'
import { getTable } from '../handlers/get-table.ts'
import { handOverLeaders } from '../handlers/hand-over-leaders.ts'
import { listIndexes } from '../handlers/list-indexes.ts'
import { listNodes } from '../handlers/list-nodes.ts'
import { listShards } from '../handlers/list-shards.ts'
import { listTables } from '../handlers/list-tables.ts'
import { lookupDocument } from '../handlers/lookup-document.ts'
import { mergeTable } from '../handlers/merge-table.ts'
import { moveReplica } from '../handlers/move-replica.ts'
import { queryGlobal } from '../handlers/query-global.ts'
import { queryTable } from '../handlers/query-table.ts'
import { recoverCluster } from '../handlers/recover-cluster.ts'
import { reloadNode } from '../handlers/reload-node.ts'
import { scanTable } from '../handlers/scan-table.ts'
import { searchTable } from '../handlers/search-table.ts'
import { transferLeader } from '../handlers/transfer-leader.ts'
import { undrainNode } from '../handlers/undrain-node.ts'
import { updateTableSchema } from '../handlers/update-table-schema.ts'
import type { OperationRow, OperationTable } from '../../../door/operation.ts'
import type { ApiContext, Handler } from '../operation.ts'

export const OPERATIONS: OperationTable<ApiContext> = {
  batchWrite: plain(fromBytes(batchWrite)),
  collectLeftovers: fromJson(collectLeftovers),
  commitTransaction: fromBytes(commitTransaction),
  createIndex: fromJson(createIndex),
  createTable: fromJson(createTable),
  crossTableBatch: fromBytes(crossTableBatch),
  decommissionNode: fromJson(decommissionNode),
  drainNode: fromJson(drainNode),
  dropIndex: fromJson(dropIndex),
  dropTable: fromJson(dropTable),
  forgetNode: fromJson(forgetNode),
  getContract: fromJson(getContract),
  getDocs: fromJson(getDocs),
  getHealth: fromJson(getHealth),
  getIndex: fromJson(getIndex),
  getStatus: fromJson(getStatus),
  getTable: fromJson(getTable),
  handOverLeaders: fromJson(handOverLeaders),
  listIndexes: fromJson(listIndexes),
  listNodes: fromJson(listNodes),
  listShards: fromJson(listShards),
  listTables: fromJson(listTables),
  lookupDocument: plain(fromJson(lookupDocument)),
  mergeTable: fromBytes(mergeTable),
  moveReplica: fromJson(moveReplica),
  queryGlobal: fromLines(queryGlobal),
  queryTable: hot(fromLines(queryTable)),
  recoverCluster: fromJson(recoverCluster),
  reloadNode: fromJson(reloadNode),
  scanTable: fromJson(scanTable),
  searchTable: fromJson(searchTable),
  transferLeader: fromJson(transferLeader),
  undrainNode: fromJson(undrainNode),
  updateTableSchema: fromJson(updateTableSchema),
}

type Row = OperationRow<ApiContext>

function fromJson(handle: Handler): Row {
  return { handle, body: 'json', way: 'express' }
}

/** For bodies that hold documents. */
function fromBytes(handle: Handler): Row {
  return { handle, body: 'bytes', way: 'express' }
}

/** For bodies that hold queries. */
function fromLines(handle: Handler): Row {
  return { handle, body: 'lines', way: 'express' }
}

function hot(row: Row): Row {
  return { ...row, way: 'hot' }
}

function plain(row: Row): Row {
  return { ...row, way: 'plain' }
}
