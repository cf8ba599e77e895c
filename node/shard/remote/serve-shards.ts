// Answers the calls that other nodes make to the shards of this one (docs/reference/formats/shard-calls.md).
//
// Invariants:
//   SV1  A message that is malformed reaches no shard: its caller hears INVALID_ARGUMENT.
//   SV2  Every refusal of a shard reaches the caller with its code, and with what is known of the leader.
//   SV3  A call that comes while its shard is about to be led here waits for that, within the bounds of HeldCalls.

import type { Clock } from '../../../lib/clock.ts'
import { isServiceError } from '../../../lib/errors.ts'
import type { HybridClock } from '../../clock/hybrid-clock.ts'
import type { PeerHandler, PeerHandlers, PeerRequest, UploadRequest } from '../../peer/peer.ts'
import type { ShardReplica } from '../shard-replica.ts'
import type { Shard } from '../shard.ts'
import { ANSWERED_CALLS, readAtOnce, type AnsweredCall, type CameCall } from './answered-calls.ts'
import { HeldCalls, type ComingShards } from './held-calls.ts'
import { LongArguments } from './long-messages.ts'
import { ServedShards, type FindShard, type ShardHere } from './served-shards.ts'
import { ANSWERED_REPLICA_CALLS, STREAMED_REPLICA_CALLS } from './replica-calls.ts'
import { OPERATIONS } from './shard-calls.ts'
import { STREAMED_CALLS, type StreamedCall } from './streamed-calls.ts'
import { beginAnswer, encodeRefusal, readCallHead, type CallHead } from './wire/call-head.ts'
import { WireReader } from './wire/wire-reader.ts'
import { WireWriter } from './wire/wire-writer.ts'

/** What the answering side needs of its node. */
export interface ServeShardsOptions<Target = Shard> {
  readonly find: FindShard<Target>
  readonly hybridClock: HybridClock
  readonly clock: Clock
  /** Absent: a call whose shard is not led here yet is refused. */
  readonly coming?: ComingShards
}

/** The handlers of all calls of shards. Give them to the node's end of the peer protocol. */
export function serveShards(options: ServeShardsOptions): PeerHandlers {
  const service = new ShardService(options)
  const { write, prepare } = ANSWERED_CALLS
  const handlers = new Map<number, PeerHandler>([
    [OPERATIONS.writeLong, service.upload(write)],
    [OPERATIONS.prepareLong, service.upload(prepare)],
    [OPERATIONS.hurry, service.message((shard) => shard.hurry())],
  ])
  for (const call of Object.values(ANSWERED_CALLS)) {
    handlers.set(call.operation, service.call(call))
  }
  for (const call of STREAMED_CALLS) handlers.set(call.operation, service.stream(call))
  return handlers
}

/** The handlers of the calls that any replica answers, whether it leads or not. */
export function serveReplicas(options: ServeShardsOptions<ShardReplica>): PeerHandlers {
  const service = new ShardService(options)
  const handlers = new Map<number, PeerHandler>()
  for (const call of ANSWERED_REPLICA_CALLS) handlers.set(call.operation, service.call(call))
  for (const call of STREAMED_REPLICA_CALLS) handlers.set(call.operation, service.stream(call))
  return handlers
}

class ShardService<Target> {
  readonly #shards: ServedShards<Target>
  readonly #clock: Clock
  readonly #arguments = new LongArguments()
  readonly #held: HeldCalls | undefined

  constructor({ find, hybridClock, clock, coming }: ServeShardsOptions<Target>) {
    this.#shards = new ServedShards(find, hybridClock)
    this.#clock = clock
    this.#held = coming && new HeldCalls(coming, clock)
  }

  call(call: AnsweredCall<Target>): PeerHandler {
    const handle = (request: PeerRequest): Promise<Buffer> =>
      this.#answering(request, ({ head, from }) => this.#answer(call, head, { from, request }))
    return { kind: 'call', handle }
  }

  /** The first message has the head and the length of the argument; the parts are the argument. */
  upload(call: AnsweredCall<Target>): PeerHandler {
    const handle = (request: UploadRequest): Promise<Buffer> =>
      this.#answering(request, ({ head, from }) => this.#answerLong(call, head, { from, request }))
    return { kind: 'upload', handle }
  }

  stream(call: StreamedCall<Target>): PeerHandler {
    return { kind: 'stream', handle: (request) => this.#stream(call, request) }
  }

  message(act: (shard: Target) => void): PeerHandler {
    const handle = ({ body }: { readonly body: Buffer }): undefined => {
      try {
        const from = new WireReader(body)
        const head = readHead(from)
        readAtOnce(() => from.end())
        act(this.#shards.admit(head, false).shard)
      } catch (error) {
        if (!isServiceError(error)) throw error // nobody waits to hear of a refusal
      }
    }
    return { kind: 'message', handle }
  }

  /** Answers the refusal if `answer` throws one. */
  async #answering(
    request: PeerRequest,
    answer: (call: OpenedCall) => Promise<Buffer>,
  ): Promise<Buffer> {
    const from = new WireReader(request.body)
    let head: CallHead | undefined
    try {
      head = readHead(from)
      const held = this.#held?.hold(head, request)
      if (held !== undefined) await held
      return await answer({ head, from })
    } catch (error) {
      return this.#refusalOf(error, head)
    }
  }

  async #answer(
    call: AnsweredCall<Target>,
    head: CallHead,
    { from, request }: { readonly from: WireReader; readonly request: PeerRequest },
  ): Promise<Buffer> {
    const here = this.#shards.admit(head, call.isTimed)
    const writeAnswer = await call.answer({ ...this.#came(here), from, request })
    const out = beginAnswer(new WireWriter(), this.#shards.headOf(here))
    writeAnswer(out)
    return out.joined()
  }

  async #answerLong(
    call: AnsweredCall<Target>,
    head: CallHead,
    { from, request }: { readonly from: WireReader; readonly request: UploadRequest },
  ): Promise<Buffer> {
    this.#shards.admit(head, call.isTimed) // before its bytes take memory
    const length = readAtOnce(() => lastNumberOf(from))
    const argument = await this.#arguments.gather(length, request.parts)
    try {
      return await this.#answer(call, head, { from: new WireReader(argument.bytes), request })
    } finally {
      argument.release()
    }
  }

  async *#stream(
    call: StreamedCall<Target>,
    request: PeerRequest,
  ): AsyncGenerator<Uint8Array, void> {
    const from = new WireReader(request.body)
    let head: CallHead | undefined
    try {
      head = readHead(from)
      const held = this.#held?.hold(head, request)
      if (held !== undefined) await held
      const here = this.#shards.admit(head, false)
      const begin = (): WireWriter => beginAnswer(new WireWriter(), this.#shards.headOf(here))
      yield* call.answer({ ...this.#came(here), from, request, begin })
    } catch (error) {
      yield this.#refusalOf(error, head)
    }
  }

  #came({ shard }: ShardHere<Target>): Pick<CameCall<Target>, 'shard' | 'clock' | 'now'> {
    return { shard, clock: this.#clock, now: () => this.#shards.time }
  }

  /** Throws what is not an expected error: a fault of this node, or the end of the call. */
  #refusalOf(error: unknown, head: CallHead | undefined): Buffer {
    if (!isServiceError(error)) throw error
    return encodeRefusal(this.#shards.time, this.#shards.refusalOf(error, head?.shard))
  }
}

interface OpenedCall {
  readonly head: CallHead
  /** The argument is next in it. */
  readonly from: WireReader
}

function readHead(from: WireReader): CallHead {
  return readAtOnce(() => readCallHead(from))
}

function lastNumberOf(from: WireReader): number {
  const number = from.u32()
  from.end()
  return number
}
