// What nodes say of themselves to a control plane that is older than they are, and that it was recovered.
// Format: docs/formats/cluster.md.

import { ServiceError } from '../../../lib/errors.ts'
import { isJsonRecord, isText, isWhole } from '../../../lib/json-record.ts'
import {
  decodeConfiguration,
  encodeConfiguration,
  type ShardPath,
} from '../../controller/core/records/cluster-codec.ts'
import type { NodeId, ShardConfiguration } from '../../replication/core/configuration.ts'

/** A node's report has pages under it and the node's id. */
export const REPORT_PREFIX = '/recovery/nodes/'
/** How often the control plane was recovered. */
export const RECOVERED_KEY = '/recovery/done'
/** Each has about 400 bytes, so a page is far below the limit of a value. */
export const SHARDS_PER_PAGE = 1000

/** What a node knows of a shard that it holds a replica of. */
export interface ReportedShard {
  readonly path: ShardPath
  /** The greatest epoch that its replica has promised. */
  readonly promised: number
  /** The newest that the node knows, with the revision that it had. */
  readonly configuration: ShardConfiguration
}

/** A page of what a node reports. */
export interface RecoveryReport {
  readonly node: NodeId
  /** The newest revision of the control plane that the node has seen. */
  readonly revision: number
  /** The greatest number of a recovery that it has accepted. */
  readonly recovery: number
  readonly shards: readonly ReportedShard[]
}

export function encodeReport({ node, revision, recovery, shards }: RecoveryReport): Buffer {
  const rows = shards.map(({ path, promised, configuration }) => ({
    path,
    promised,
    revision: configuration.revision,
    configuration: encodeConfiguration(configuration).toString(),
  }))
  return Buffer.from(JSON.stringify({ format: 1, node, revision, recovery, shards: rows }))
}

/** Throws CORRUPTION for other bytes. */
export function decodeReport(bytes: Buffer): RecoveryReport {
  const { node, revision, recovery, shards } = recordIn(bytes)
  if (!isText(node) || !isWhole(revision) || !isWhole(recovery) || !Array.isArray(shards)) {
    throw damaged()
  }
  return { node, revision, recovery, shards: shards.map(decodeShard) }
}

function decodeShard(row: unknown): ReportedShard {
  if (!isJsonRecord(row)) throw damaged()
  const { path, promised, revision, configuration } = row
  if (!isText(path) || !isWhole(promised) || !isWhole(revision) || !isText(configuration)) {
    throw damaged()
  }
  return {
    path,
    promised,
    configuration: decodeConfiguration(Buffer.from(configuration), revision),
  }
}

export function encodeRecovered(number: number): Buffer {
  return Buffer.from(JSON.stringify({ format: 1, number }))
}

/** 0 if it was never recovered. */
export function decodeRecovered(bytes: Buffer | undefined): number {
  if (bytes === undefined) return 0
  const { number } = recordIn(bytes)
  if (!isWhole(number)) throw damaged()
  return number
}

function recordIn(bytes: Buffer) {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    if (isJsonRecord(value) && value['format'] === 1) return value
  } catch {
    // refused below
  }
  throw damaged()
}

function damaged(): ServiceError {
  return new ServiceError('CORRUPTION', 'an entry of a recovery is damaged; start the nodes again')
}
