// Where the logs of a node's replicas end, for the controller that has to compare them.
// Format: docs/reference/formats/controller-calls.md.

import { ServiceError } from '../../../lib/errors.ts'
import { isText, isWhole, readJsonRecord } from '../../../lib/json-record.ts'
import type { PeerHandlers, PeerLink } from '../../peer/peer.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import type { LogEnd } from '../../replication/core/fit-leaders.ts'
import type { ShardPath } from '../core/records/cluster-codec.ts'

/** Operations 96 to 111 are the cluster's. */
const LOG_ENDS = 106
const TIMEOUT_MS = 2000
/** The replicas of one question. */
export const ENDS_MAX = 10_000

/** The ends of the logs of some replicas, all of one life of their node. */
export interface AnsweredEnds {
  readonly incarnation: number
  readonly ends: readonly (LogEnd & { readonly path: ShardPath })[]
}

/** Asks replicas of a node where their logs end. Those that cannot say are left out. Rejects as calls of peers do. */
export type AskEnds = (node: NodeId, paths: readonly ShardPath[]) => Promise<AnsweredEnds>

/** Answers for the replicas of this life that are open; `endOf` is undefined for others. */
export function logEndHandlers(
  incarnation: number,
  endOf: (path: ShardPath) => LogEnd | undefined,
): PeerHandlers {
  return new Map([
    [
      LOG_ENDS,
      {
        kind: 'call' as const,
        handle: async ({ body }: { readonly body: Buffer }) => {
          const ends = decodePaths(body).flatMap((path) => {
            const end = endOf(path)
            return end === undefined ? [] : [{ path, ...end }]
          })
          return encodeEnds({ incarnation, ends })
        },
      },
    ],
  ])
}

export function askEndsBy(linkTo: (node: NodeId) => PeerLink | undefined): AskEnds {
  return async (node, paths) => {
    const link = linkTo(node)
    if (link === undefined) {
      throw new ServiceError('UNAVAILABLE', `the address of node ${node} is not known`)
    }
    const body = Buffer.from(JSON.stringify({ paths }))
    return decodeEnds(await link.call({ operation: LOG_ENDS, body }, { timeoutMs: TIMEOUT_MS }))
  }
}

function encodeEnds({ incarnation, ends }: AnsweredEnds): Buffer {
  const rows = ends.map(({ path, epoch, sequence }) => [path, epoch, sequence])
  return Buffer.from(JSON.stringify({ incarnation, ends: rows }))
}

function decodePaths(bytes: Buffer): readonly ShardPath[] {
  const { paths } = readJsonRecord(bytes, invalid)
  if (!Array.isArray(paths) || paths.length > ENDS_MAX || !paths.every(isText)) throw invalid()
  return paths
}

function decodeEnds(bytes: Buffer): AnsweredEnds {
  const { incarnation, ends } = readJsonRecord(bytes, invalid)
  if (!isWhole(incarnation) || !Array.isArray(ends)) throw invalid()
  return {
    incarnation,
    ends: ends.map((row: unknown) => {
      if (!Array.isArray(row)) throw invalid()
      const [path, epoch, sequence]: readonly unknown[] = row
      if (!isText(path) || !isWhole(epoch) || !isWhole(sequence)) throw invalid()
      return { path, epoch, sequence }
    }),
  }
}

function invalid(): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', 'these are no ends of logs')
}
