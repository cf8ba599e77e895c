// How a shard is asked for each call with one answer.

import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import { isSliced, runInTurn } from '../../../lib/sliced.ts'
import type { PeerRequest } from '../../peer/peer.ts'
import type { Shard } from '../shard.ts'
import { LONG_BYTES } from './wire/call-limits.ts'
import { SHARD_CALLS, type CallCodec, type FoundRecord, type ShardCalls } from './shard-calls.ts'
import type { WireReader } from './wire/wire-reader.ts'
import type { WireWriter } from './wire/wire-writer.ts'

/** A call that came to a shard of this node. */
export interface CameCall {
  readonly shard: Shard
  /** The argument is next in it. */
  readonly from: WireReader
  readonly request: Pick<PeerRequest, 'signal'>
  readonly clock: Clock
}

/** Writes the answer to a call. */
export type WriteAnswer = (out: WireWriter) => void

/** Reads the argument, asks the shard, and resolves when it has answered. */
export interface AnsweredCall {
  readonly operation: number
  readonly isTimed: boolean
  answer(call: CameCall): Promise<WriteAnswer>
}

type Ask<Argument, Answer> = (
  shard: Shard,
  argument: Argument,
  request: Pick<PeerRequest, 'signal'>,
) => Answer | Promise<Answer>

/** A row for each call: a new one does not compile until it has its row. */
export const ANSWERED_CALLS: Readonly<Record<keyof ShardCalls, AnsweredCall>> = {
  read: answered(SHARD_CALLS.read, askRead),
  write: answered(SHARD_CALLS.write, (shard, command, { signal }) =>
    shard.write(command, { signal }),
  ),
  prepare: answered(SHARD_CALLS.prepare, (shard, command, { signal }) =>
    shard.prepare(command, { signal }),
  ),
  decide: answered(SHARD_CALLS.decide, (shard, command, { signal }) =>
    shard.decide(command, { signal }),
  ),
  forget: answered(SHARD_CALLS.forget, async (shard, { transactionId, anchor }) => {
    await shard.forget(transactionId, anchor)
    return undefined
  }),
  push: answered(SHARD_CALLS.push, (shard, push, { signal }) => shard.push(push, { signal })),
  heartbeat: answered(SHARD_CALLS.heartbeat, async (shard, transactionId, { signal }) => {
    await shard.heartbeat(transactionId, { signal })
    return undefined
  }),
  waitForRelease: answered(SHARD_CALLS.waitForRelease, async (shard, argument, { signal }) => {
    const { transactionId, timeoutMs } = argument
    await shard.waitForRelease(transactionId, { timeoutMs, signal })
    return undefined
  }),
  indexStatus: answered(SHARD_CALLS.indexStatus, (shard, index) => shard.indexStatus(index)),
  waitForIndexes: answered(SHARD_CALLS.waitForIndexes, async (shard, _, { signal }) => {
    await shard.waitForIndexes({ signal })
    return undefined
  }),
  stats: answered(SHARD_CALLS.stats, (shard, _, { signal }) => shard.stats({ signal })),
  state: answered(SHARD_CALLS.state, (shard, _, { signal }) => shard.state({ signal })),
}

function answered<Argument, Answer>(
  codec: CallCodec<Argument, Answer>,
  ask: Ask<Argument, Answer>,
): AnsweredCall {
  return {
    operation: codec.operation,
    isTimed: codec.isTimed,
    async answer({ shard, from, request, clock }) {
      const argument = await readArgument(from, clock, codec.read)
      const asked = ask(shard, argument, request)
      const answer = asked instanceof Promise ? await asked : asked
      return (out) => codec.writeAnswer(out, answer)
    },
  }
}

async function askRead(
  shard: Shard,
  key: Buffer,
  { signal }: Pick<PeerRequest, 'signal'>,
): Promise<FoundRecord> {
  const found = shard.read(key)
  const record = found instanceof Promise ? await shard.read(key, { signal }) : found
  if (record === undefined) return { kind: 'absent' }
  return record.length > LONG_BYTES ? { kind: 'long' } : { kind: 'record', record }
}

/** Reads an argument to its end. Rejects with INVALID_ARGUMENT if the message is malformed. */
export async function readArgument<Argument>(
  from: WireReader,
  clock: Clock,
  read: CallCodec<Argument, unknown>['read'],
): Promise<Argument> {
  try {
    const found = read(from)
    const argument = isSliced<Argument>(found) ? await runInTurn(found, { clock }) : found
    from.end()
    return argument
  } catch (error) {
    throw refused(error)
  }
}

/** Reads what is at hand. Throws INVALID_ARGUMENT if the message is malformed. */
export function readAtOnce<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw refused(error)
  }
}

/** The bytes came from another node, so what is wrong with them is not the fault of this one. */
function refused(error: unknown): unknown {
  const isMalformed = isServiceError(error) && error.code === 'CORRUPTION'
  return isMalformed ? new ServiceError('INVALID_ARGUMENT', error.message) : error
}
