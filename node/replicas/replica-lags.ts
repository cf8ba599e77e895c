// How far the followers of shards are behind. Their leaders know, and any node asks these.
// Format of the call: docs/reference/formats/replica-calls.md.

import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord, isText, isWhole } from '../../lib/json-record.ts'
import type { PeerHandlers, PeerLink } from '../peer/peer.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import type { ReplicaLag } from '../replication/core/follower-progress.ts'
import type { LocalShard } from '../shard/local-shard.ts'

/** The number is part of the peer protocol. */
const LAGS = 98
/** A status does not wait longer for a node. */
const ASK_MS = 1000
/** Shards of one question and of one answer. */
const SHARDS_MAX = 20_000

/** By node, how far its replica is behind. */
export type ShardLags = ReadonlyMap<NodeId, ReplicaLag>

/** The shards to ask a leader about; undefined: all that it leads. */
export type LagQuestion = ReadonlyMap<NodeId, readonly string[] | undefined>

/** What lags are known by. */
export interface ReplicaLagsOptions {
  readonly self: NodeId
  readonly leading: () => Iterable<Pick<LocalShard, 'id' | 'replicated'>>
  /** The nodes that lead shards of the cluster. */
  readonly leaders: () => Iterable<NodeId>
  readonly linkTo: (node: NodeId) => PeerLink | undefined
  readonly clock: Clock
}

/** Tells other nodes of the shards that are led here, and asks them about theirs. */
export class ReplicaLags {
  readonly #with: ReplicaLagsOptions

  constructor(options: ReplicaLagsOptions) {
    this.#with = options
  }

  /** The most entries that a follower of a shard led here lacks. */
  get entriesMax(): number {
    let most = 0
    for (const lags of this.#own(undefined).values()) {
      for (const { entries } of lags.values()) most = Math.max(most, entries)
    }
    return most
  }

  /** By shard. Leaders that do not answer within a second are left out. */
  async ask(question: LagQuestion): Promise<ReadonlyMap<string, ShardLags>> {
    const answers = await Promise.all(
      [...question].map(([node, shards]) => this.#askNode(node, shards)),
    )
    return new Map(answers.flatMap((answer) => [...answer]))
  }

  /** The same for every shard that has a leader. */
  askAll(): Promise<ReadonlyMap<string, ShardLags>> {
    return this.ask(new Map([...this.#with.leaders()].map((node) => [node, undefined])))
  }

  handlers(): PeerHandlers {
    const handle = async ({ body }: { readonly body: Buffer }): Promise<Buffer> =>
      encodeLags(this.#own(decodeQuestion(body)))
    return new Map([[LAGS, { kind: 'call', handle }]])
  }

  async #askNode(
    node: NodeId,
    shards: readonly string[] | undefined,
  ): Promise<ReadonlyMap<string, ShardLags>> {
    if (node === this.#with.self) return this.#own(shards)
    try {
      const link = this.#with.linkTo(node)
      const call = { operation: LAGS, body: encodeQuestion(shards) }
      const answer = await link?.call(call, { timeoutMs: ASK_MS })
      return answer === undefined ? new Map() : decodeLags(answer)
    } catch {
      return new Map() // its shards are shown without lag
    }
  }

  #own(shards: readonly string[] | undefined): ReadonlyMap<string, ShardLags> {
    const wanted = shards && new Set(shards)
    const own = new Map<string, ShardLags>()
    for (const { id, replicated } of this.#with.leading()) {
      if (wanted?.has(id) === false || replicated === undefined) continue
      own.set(id, replicated.log.lags)
      if (own.size === SHARDS_MAX) break
    }
    return own
  }
}

/** The largest lag among the replicas of a shard; undefined if none is known. */
export function worstLag(lags: ShardLags): ReplicaLag | undefined {
  let worst: ReplicaLag | undefined
  for (const lag of lags.values()) {
    if (worst === undefined || lag.entries > worst.entries) worst = lag
  }
  return worst
}

function encodeQuestion(shards: readonly string[] | undefined): Buffer {
  return Buffer.from(JSON.stringify({ shards }))
}

function decodeQuestion(bytes: Buffer): readonly string[] | undefined {
  const { shards } = recordIn(bytes)
  if (shards === undefined) return undefined
  if (Array.isArray(shards) && shards.length <= SHARDS_MAX && shards.every(isText)) return shards
  throw malformed()
}

function encodeLags(lags: ReadonlyMap<string, ShardLags>): Buffer {
  const shards = [...lags].map(([id, ofShard]) => [
    id,
    [...ofShard].map(([node, { entries, ms }]) => [node, entries, ms]),
  ])
  return Buffer.from(JSON.stringify({ shards }))
}

function decodeLags(bytes: Buffer): ReadonlyMap<string, ShardLags> {
  const { shards } = recordIn(bytes)
  if (!Array.isArray(shards) || shards.length > SHARDS_MAX) throw malformed()
  return new Map(
    shards.map((row: unknown) => {
      const [id, lags]: readonly unknown[] = Array.isArray(row) ? row : []
      if (!isText(id) || !Array.isArray(lags)) throw malformed()
      return [id, new Map(lags.map(decodeLag))]
    }),
  )
}

function decodeLag(row: unknown): [NodeId, ReplicaLag] {
  const [node, entries, ms]: readonly unknown[] = Array.isArray(row) ? row : []
  if (!isText(node) || !isWhole(entries) || !isWhole(ms)) throw malformed()
  return [node, { entries, ms }]
}

function recordIn(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    if (isJsonRecord(value)) return value
  } catch {
    // refused below
  }
  throw malformed()
}

function malformed(): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', 'a message about the lag of replicas is malformed')
}
