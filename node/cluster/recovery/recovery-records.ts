// What nodes say of themselves to a control plane that is older than they are, and that it was recovered.
// Format: docs/reference/formats/cluster.md.

import { ServiceError } from '../../../lib/errors.ts'
import { isJsonRecord, isText, isWhole } from '../../../lib/json-record.ts'
import type { ShardPath } from '../../controller/core/records/cluster-codec.ts'
import type { NodeId, ShardConfiguration } from '../../replication/core/configuration.ts'
import {
  configurationIn,
  decodeStored,
  encodeStored,
  storedConfiguration,
} from './recovery-codec.ts'

/** A node's report has pages under it and the node's id. */
export const REPORT_PREFIX = '/recovery/nodes/'
/** Under it and the node's id stands that the node refuses the control plane. It comes behind all pages of its report. */
export const REFUSING_PREFIX = '/recovery/refusing/'
/** Put by each recovery when it begins; the revision tells it from others, and the value is the number before it. */
export const ATTEMPT_KEY = '/recovery/attempt'
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
  const rows = shards.map(({ path, promised, configuration }) => {
    return { path, promised, ...storedConfiguration(configuration) }
  })
  return encodeStored({ node, revision, recovery, shards: rows })
}

/** Throws CORRUPTION for other bytes. */
export function decodeReport(bytes: Buffer): RecoveryReport {
  const { node, revision, recovery, shards } = decodeStored(bytes, damaged)
  if (!isText(node) || !isWhole(revision) || !isWhole(recovery) || !Array.isArray(shards)) {
    throw damaged()
  }
  return { node, revision, recovery, shards: shards.map(decodeShard) }
}

function decodeShard(row: unknown): ReportedShard {
  if (!isJsonRecord(row)) throw damaged()
  const { path, promised } = row
  if (!isText(path) || !isWhole(promised)) throw damaged()
  return { path, promised, configuration: configurationIn(row, damaged) }
}

/** The number of pages of the node's report. */
export function encodeRefusing(pages: number): Buffer {
  return encodeStored({ pages })
}

/** Throws CORRUPTION for other bytes. */
export function decodeRefusing(bytes: Buffer): number {
  const { pages } = decodeStored(bytes, damaged)
  if (!isWhole(pages)) throw damaged()
  return pages
}

export function encodeRecovered(number: number): Buffer {
  return encodeStored({ number })
}

/** 0 if it was never recovered. */
export function decodeRecovered(bytes: Buffer | undefined): number {
  if (bytes === undefined) return 0
  const { number } = decodeStored(bytes, damaged)
  if (!isWhole(number)) throw damaged()
  return number
}

function damaged(): ServiceError {
  return new ServiceError('CORRUPTION', 'an entry of a recovery is damaged; start the nodes again')
}
