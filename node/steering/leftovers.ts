// Replicas that belong to no table, and that no drop explains: any node lists those of another one for an operator, and
// has it remove the ones that the operator names. Format of the call: docs/reference/formats/replica-calls.md.

import { ServiceError } from '../../lib/errors.ts'
import { isText, isWhole, readJsonRecord } from '../../lib/json-record.ts'
import type { PeerHandlers, PeerLink } from '../peer/peer.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import { parseShardId, type ShardId } from '../shard/shard-id.ts'
import type { CollectAnswer } from './cluster-answers.ts'
import type { DroppedReplicas } from '../replicas/tables/dropped-replicas.ts'

/** The number is part of the peer protocol. */
const COLLECT = 107
/** To remove a replica deletes its files. */
const COLLECT_MS = 60_000
/** Shards of one question and of one answer. */
const LEFTOVERS_MAX = 1000

/** What leftovers are asked with. */
export interface LeftoversOptions {
  readonly self: NodeId
  readonly dropped: Pick<DroppedReplicas, 'leftovers' | 'collect'>
  readonly linkTo: (node: NodeId) => PeerLink | undefined
}

/** Asks nodes about their leftovers, and answers others about those of this one. */
export class Leftovers {
  readonly #with: LeftoversOptions

  constructor(options: LeftoversOptions) {
    this.#with = options
  }

  /** Rejects as `PeerLink.call` does for another node, and as `DroppedReplicas.collect`. */
  async collect(node: NodeId, shards: readonly string[]): Promise<CollectAnswer> {
    if (node === this.#with.self) return this.#own(shards.map(parseShardId))
    const link = this.#with.linkTo(node)
    if (link === undefined) {
      throw new ServiceError('UNAVAILABLE', `the address of node ${node} is not known`)
    }
    const body = Buffer.from(JSON.stringify({ shards }))
    return decode(await link.call({ operation: COLLECT, body }, { timeoutMs: COLLECT_MS }))
  }

  handlers(): PeerHandlers {
    const handle = async ({ body }: { readonly body: Buffer }): Promise<Buffer> => {
      const answer = await this.#own(shardsIn(readJsonRecord(body, invalid)['shards']))
      return Buffer.from(JSON.stringify(answer))
    }
    return new Map([[COLLECT, { kind: 'call', handle }]])
  }

  async #own(shards: readonly ShardId[]): Promise<CollectAnswer> {
    const { dropped } = this.#with
    const removed = shards.length === 0 ? [] : await dropped.collect(shards)
    const { leftovers } = dropped
    return {
      removed,
      leftover_count: leftovers.length,
      leftovers: leftovers.slice(0, LEFTOVERS_MAX),
    }
  }
}

function decode(bytes: Buffer): CollectAnswer {
  const { removed, leftovers, leftover_count: count } = readJsonRecord(bytes, invalid)
  if (!isWhole(count)) throw invalid()
  return { removed: shardsIn(removed), leftover_count: count, leftovers: shardsIn(leftovers) }
}

function shardsIn(value: unknown): readonly ShardId[] {
  if (!Array.isArray(value) || value.length > LEFTOVERS_MAX || !value.every(isText)) throw invalid()
  return value.map(parseShardId)
}

function invalid(): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', 'this is no question about leftovers')
}
