// How a shard is asked for each call with one answer.

import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import { isSliced, runInTurn } from '../../../lib/sliced.ts'
import { unlessAborted } from '../../../lib/unless-aborted.ts'
import { millisOf, type Timestamp } from '../../clock/hybrid-clock.ts'
import type { PeerRequest } from '../../peer/peer.ts'
import type { Shard } from '../shard.ts'
import { LONG_BYTES } from './wire/call-limits.ts'
import { SHARD_CALLS, type CallCodec, type FoundRecord, type ShardCalls } from './shard-calls.ts'
import type { WireReader } from './wire/wire-reader.ts'
import type { WireWriter } from './wire/wire-writer.ts'

/** A clock that is so far behind does not serve anyway: its node refuses the times of all others. */
const AHEAD_MS_MAX = 3_600_000

/** A call that came to a shard of this node. */
export interface CameCall<Target = Shard> {
  readonly shard: Target
  /** The argument is next in it. */
  readonly from: WireReader
  readonly request: Pick<PeerRequest, 'signal' | 'remainingMs'>
  readonly clock: Clock
  /** The hybrid time of this node. */
  now(this: void): Timestamp
}

/** Writes the answer to a call. */
export type WriteAnswer = (out: WireWriter) => void

/** Reads the argument, asks the shard, and resolves when it has answered. */
export interface AnsweredCall<Target = Shard> {
  readonly operation: number
  readonly isTimed: boolean
  answer(call: CameCall<Target>): Promise<WriteAnswer>
}

type Ask<Target, Argument, Answer> = (
  shard: Target,
  argument: Argument,
  call: CameCall<Target>,
) => Answer | Promise<Answer>

/** A row for each call: a new one does not compile until it has its row. */
export const ANSWERED_CALLS: Readonly<Record<keyof ShardCalls, AnsweredCall>> = {
  read: answered(SHARD_CALLS.read, askRead),
  moment: answered(SHARD_CALLS.moment, (shard, range, { request }) =>
    shard.moment(range, { signal: request.signal }),
  ),
  pinHistory: answered(SHARD_CALLS.pinHistory, async (shard, pin, { request }) => {
    await shard.pinHistory(pin, { signal: request.signal })
    return undefined
  }),
  write: answered(SHARD_CALLS.write, (shard, command, { request }) =>
    shard.write(command, { signal: request.signal }),
  ),
  prepare: answered(SHARD_CALLS.prepare, (shard, command, { request }) =>
    shard.prepare(command, { signal: request.signal }),
  ),
  decide: answered(SHARD_CALLS.decide, (shard, command, { request, now }) => {
    assertPlausible(command.commitAtLeast, now())
    return shard.decide(command, { signal: request.signal })
  }),
  forget: answered(SHARD_CALLS.forget, async (shard, { transactionId, anchor }) => {
    await shard.forget(transactionId, anchor)
    return undefined
  }),
  push: answered(SHARD_CALLS.push, (shard, push, { request, now }) => {
    assertPlausible(push.above, now())
    return shard.push(push, { signal: request.signal })
  }),
  heartbeat: answered(SHARD_CALLS.heartbeat, async (shard, transactionId, { request }) => {
    await shard.heartbeat(transactionId, { signal: request.signal })
    return undefined
  }),
  waitForRelease: answered(SHARD_CALLS.waitForRelease, async (shard, argument, { request }) => {
    const { transactionId, timeoutMs } = argument
    await shard.waitForRelease(transactionId, { timeoutMs, signal: request.signal })
    return undefined
  }),
  indexPosition: answered(SHARD_CALLS.indexPosition, (shard, { index, atLeast }, came) => {
    const { signal } = came.request
    const deadlineMs = came.clock.monotonicMs() + (came.request.remainingMs() ?? Infinity)
    return shard.indexPosition(index, { signal, deadlineMs, atLeast })
  }),
  indexStatus: answered(SHARD_CALLS.indexStatus, (shard, { index, parkedMax }) =>
    shard.indexStatus(index, { parkedMax }),
  ),
  waitForIndexes: answered(SHARD_CALLS.waitForIndexes, async (shard, _, { request }) => {
    await shard.waitForIndexes({ signal: request.signal })
    return undefined
  }),
  stats: answered(SHARD_CALLS.stats, (shard, _, { request }) =>
    shard.stats({ signal: request.signal }),
  ),
  state: answered(SHARD_CALLS.state, (shard, _, { request }) =>
    shard.state({ signal: request.signal }),
  ),
}

/** The row of a call with one argument and one answer. */
export function answered<Argument, Answer, Target = Shard>(
  codec: CallCodec<Argument, Answer>,
  ask: Ask<Target, Argument, Answer>,
): AnsweredCall<Target> {
  return {
    operation: codec.operation,
    isTimed: codec.isTimed,
    async answer(call) {
      const argument = await readArgument(call.from, call.clock, codec.read)
      const asked = ask(call.shard, argument, call)
      const answer = asked instanceof Promise ? await asked : asked
      return (out) => codec.writeAnswer(out, answer)
    },
  }
}

async function askRead(shard: Shard, key: Buffer, { request }: CameCall): Promise<FoundRecord> {
  const found = shard.read(key) // without a signal, which most reads do not need and which costs
  const record = found instanceof Promise ? await unlessAborted(found, request.signal) : found
  if (record === undefined) return { kind: 'absent' }
  return record.length > LONG_BYTES ? { kind: 'long' } : { kind: 'record', record }
}

/**
 * Throws INVALID_ARGUMENT for a time that no working clock of the cluster can have. A decided transaction is
 * believed beyond the usual offset, so such a time would move this node's clock, and with it all others.
 */
export function assertPlausible(time: Timestamp, now: Timestamp): void {
  if (millisOf(time) <= millisOf(now) + AHEAD_MS_MAX) return
  throw new ServiceError('INVALID_ARGUMENT', `timestamp ${time} lies hours in the future`)
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
