import type { Clock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import type { HybridClock, Timestamp } from '../../clock/hybrid-clock.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../../index/kinds/index-questions.ts'
import type { NodeId, PeerLink } from '../../peer/peer.ts'
import type { PlacedAnswer, SearchFromLimits } from '../following/index-position.ts'
import type { ShardId } from '../shard-id.ts'
import type {
  DatedRecord,
  ReadAtOptions,
  ReplicaSearchLimits,
  ShardReplica,
} from '../shard-replica.ts'
import type { CallOptions, ScanOptions, ScanRow } from '../shard.ts'
import type { AnswerStream } from './answer-stream.ts'
import { CLOSED_TIME, RECORD_BYTES_MAX, writeReadAt } from './replica-calls.ts'
import { remoteSearch, remoteSearchFrom } from './remote-search.ts'
import { ShardAsker } from './shard-asker.ts'
import { OPERATIONS, writeScan } from './shard-calls.ts'
import { readRows } from './wire/rows-codec.ts'
import { WireWriter } from './wire/wire-writer.ts'

/** The caller of a replica that has not answered for a second asks another one. */
const REPLICA_TIMEOUT_MS = 1000

/** A replica of a shard on another node. */
export interface RemoteReplicaOptions {
  readonly id: ShardId
  readonly node: NodeId
  /** The way to the node; undefined while its address is not known. */
  readonly link: () => PeerLink | undefined
  readonly clock: Clock
  readonly hybridClock: HybridClock
  readonly random: Random
}

/** Asks the node once; whatever fails, the caller has other replicas to ask. See ShardReplica. */
export class RemoteReplica implements ShardReplica {
  readonly #asker: ShardAsker

  constructor({ id, node, link, clock, hybridClock, random }: RemoteReplicaOptions) {
    const places = {
      leaderOf: async () => {
        const to = link()
        return to && { node, epoch: 0, link: to }
      },
      hint: () => undefined,
    }
    const asking = { id, places, clock, hybridClock, random, timeoutMs: REPLICA_TIMEOUT_MS }
    this.#asker = new ShardAsker({ ...asking, isMadeOnce: true })
  }

  closedTime(options?: CallOptions): Promise<Timestamp> {
    return this.#asker.ask(CLOSED_TIME, undefined, options)
  }

  readAt(key: Buffer, { at, signal }: ReadAtOptions = {}): Promise<DatedRecord> {
    const argument = new WireWriter()
    writeReadAt(argument, { key, at })
    const question = { operation: OPERATIONS.readAt, argument, options: { signal } }
    return this.#asker.stream(question, async (answer) => {
      const shown = answer.reading(() => answer.head.timestamp())
      const isPresent = answer.reading(() => answer.head.boolean())
      const record = await answer.joined(RECORD_BYTES_MAX)
      return { at: shown, record: isPresent ? record : undefined }
    })
  }

  async scanAt({ range, at, signal }: ScanOptions): Promise<AsyncIterable<ScanRow[]>> {
    const argument = new WireWriter()
    writeScan(argument, { range, at })
    return pagesOf(await this.#asker.openStream({ operation: OPERATIONS.scanAt, argument, signal }))
  }

  searchHere<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    asked: IndexRequest<Kind, Name>,
    { atLeast, ...limits }: ReplicaSearchLimits,
  ): Promise<IndexAnswer<Kind, Name>> {
    return remoteSearch(this.#asker, { index, asked, atLeast }, limits)
  }

  /** Within a second as well: the leader is asked instead. */
  searchFrom<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
    index: string,
    asked: IndexRequest<Kind, Name>,
    { from, signal, deadlineMs }: SearchFromLimits,
  ): Promise<PlacedAnswer<IndexAnswer<Kind, Name>>> {
    const patienceMs = this.#asker.clock.monotonicMs() + REPLICA_TIMEOUT_MS
    const limits = { signal, deadlineMs: Math.min(deadlineMs, patienceMs) }
    return remoteSearchFrom(this.#asker, { index, asked, from }, limits)
  }
}

async function* pagesOf(stream: AnswerStream): AsyncGenerator<ScanRow[], void> {
  for await (const part of stream) yield stream.reading(() => readRows(part))
}
