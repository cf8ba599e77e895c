// What the elected controller is asked, by its own node or by another one.
// Format: docs/reference/formats/controller-calls.md.

import type { ShardSize, ToldDisk, NodeTold } from './node-told.ts'
import { unreachable } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import {
  isJsonRecord,
  isListOf,
  isText,
  isWhole,
  readJsonRecord,
  type JsonRecord,
} from '../../../lib/json-record.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import { listShards, reportCluster, type ShardQuery } from '../core/cluster-report.ts'
import { SHARD_TROUBLES, type ClusterReport, type ShardReport } from '../core/reported-cluster.ts'
import { requestMove, requestTransfer } from '../core/operator-requests.ts'
import type { ShardPath } from '../core/records/cluster-codec.ts'
import type { ElectedController } from './elected-controller.ts'

/** The longest text of a name in a request. */
const NAME_MAX = 1024
/** The shards of one answer. */
const LISTED_MAX = 10_000
/** Sizes in one message: those of one node's leaders. */
export const SIZES_MAX = 20_000

export type ControllerRequest =
  | {
      readonly kind: 'move'
      readonly path: ShardPath
      readonly from: NodeId
      readonly to: NodeId
    }
  | { readonly kind: 'transfer'; readonly path: ShardPath; readonly to: NodeId }
  | { readonly kind: 'report' }
  | { readonly kind: 'shards'; readonly query: ShardQuery }

export type ControllerAnswer =
  /** The change is stored. */
  | { readonly kind: 'accepted' }
  /** Nothing has changed, for this reason. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'report'; readonly report: ClusterReport }
  | { readonly kind: 'shards'; readonly shards: readonly ShardReport[] }

/** Rejects with UNAVAILABLE if the outcome is unknown, and with NOT_LEADER if nothing happened. */
export async function answerRequest(
  elected: ElectedController,
  request: ControllerRequest,
): Promise<ControllerAnswer> {
  switch (request.kind) {
    case 'report':
      return { kind: 'report', report: elected.show(reportCluster) }
    case 'shards': {
      const shards = elected.show((cluster) => listShards(cluster, request.query))
      return { kind: 'shards', shards }
    }
    case 'move': {
      const refusal = await elected.request((cluster) => requestMove(cluster, request))
      return refusal === undefined ? ACCEPTED : { kind: 'refused', reason: refusal.refused }
    }
    case 'transfer': {
      const refusal = await elected.request((cluster) => requestTransfer(cluster, request))
      return refusal === undefined ? ACCEPTED : { kind: 'refused', reason: refusal.refused }
    }
    default:
      return unreachable(request)
  }
}

const ACCEPTED: ControllerAnswer = { kind: 'accepted' }

export function encodeRequest(request: ControllerRequest): Buffer {
  return Buffer.from(JSON.stringify(request))
}

/** Throws INVALID_ARGUMENT for other bytes. */
export function decodeRequest(bytes: Buffer): ControllerRequest {
  const { kind, path, from, to, query } = readJsonRecord(bytes, invalid)
  if (kind === 'report') return { kind }
  if (kind === 'shards' && isJsonRecord(query)) return { kind, query: queryIn(query) }
  if (kind === 'transfer' && isName(path) && isName(to)) return { kind, path, to }
  if (kind === 'move' && isName(path) && isName(from) && isName(to)) {
    return { kind, path, from, to }
  }
  throw invalid()
}

export function encodeAnswer(answer: ControllerAnswer): Buffer {
  return Buffer.from(JSON.stringify(answer))
}

/** Reads what a node of the cluster has answered; members without a value are absent. */
export function decodeAnswer(bytes: Buffer): ControllerAnswer {
  const { kind, reason, report, shards } = readJsonRecord(bytes, invalid)
  if (kind === 'accepted') return ACCEPTED
  if (kind === 'refused' && isText(reason)) return { kind, reason }
  if (kind === 'report' && isReport(report)) return { kind, report }
  if (kind === 'shards' && isListOf(shards, isShardReport)) return { kind, shards }
  throw invalid()
}

export function encodeTold({ sizes, disk: told }: NodeTold): Buffer {
  const pairs = sizes.map(({ path, bytes }) => [path, bytes])
  const disk = told && [told.node, told.disk.totalBytes, told.disk.freeBytes]
  return Buffer.from(JSON.stringify({ sizes: pairs, disk }))
}

/** Throws INVALID_ARGUMENT for other bytes. Earlier versions say nothing of disks. */
export function decodeTold(bytes: Buffer): NodeTold {
  const { sizes, disk } = readJsonRecord(bytes, invalid)
  if (!Array.isArray(sizes) || sizes.length > SIZES_MAX) throw invalid()
  return { sizes: sizesIn(sizes), ...(disk === undefined ? {} : { disk: diskIn(disk) }) }
}

function sizesIn(sizes: readonly unknown[]): readonly ShardSize[] {
  return sizes.map((pair: unknown) => {
    if (!Array.isArray(pair)) throw invalid()
    const [path, size]: readonly unknown[] = pair
    if (!isName(path) || !isWhole(size) || size < 0) throw invalid()
    return { path, bytes: size }
  })
}

function diskIn(value: unknown): ToldDisk {
  if (!Array.isArray(value)) throw invalid()
  const [node, totalBytes, freeBytes]: readonly unknown[] = value
  if (!isName(node) || !isWhole(totalBytes) || !isWhole(freeBytes)) throw invalid()
  if (totalBytes < 0 || freeBytes < 0) throw invalid()
  return { node, disk: { totalBytes, freeBytes } }
}

function queryIn({ tableId, trouble, path, after, limit }: JsonRecord): ShardQuery {
  if (!isWhole(limit) || limit < 1 || limit > LISTED_MAX) throw invalid()
  return {
    tableId: optionalName(tableId),
    trouble: troubleIn(trouble),
    path: optionalName(path),
    after: optionalName(after),
    limit,
  }
}

function troubleIn(value: unknown): ShardQuery['trouble'] {
  if (value === undefined || value === 'any') return value
  const trouble = SHARD_TROUBLES.find((name) => name === value)
  if (trouble === undefined) throw invalid()
  return trouble
}

function optionalName(value: unknown): string | undefined {
  if (value === undefined || isName(value)) return value
  throw invalid()
}

function isName(value: unknown): value is string {
  return isText(value) && value.length > 0 && value.length <= NAME_MAX
}

/** A node of the same cluster has made it, by the type that stands here. */
function isReport(value: unknown): value is ClusterReport {
  if (!isJsonRecord(value)) return false
  const { nodes, troubled, moves, troubles, shards } = value
  const lists = [nodes, troubled, moves]
  return lists.every(Array.isArray) && isJsonRecord(troubles) && isWhole(shards)
}

function isShardReport(value: unknown): value is ShardReport {
  if (!isJsonRecord(value)) return false
  const { path, epoch, replicas, inSync, minInSync, replicationFactor } = value
  const numbers = [epoch, minInSync, replicationFactor]
  return isText(path) && numbers.every(isWhole) && [replicas, inSync].every(Array.isArray)
}

function invalid(): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', 'this is no request or answer of a controller')
}
