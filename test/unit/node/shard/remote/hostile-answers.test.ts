// A node that answers nonsense costs its callers an error, and nothing else.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { ManualClock } from '../../../../../lib/clock.ts'
import { isServiceError } from '../../../../../lib/errors.ts'
import { HybridClock, TIMESTAMP_ZERO } from '../../../../../node/clock/hybrid-clock.ts'
import type { PeerHandler, PeerHandlers } from '../../../../../node/peer/peer.ts'
import { buildTransactionId } from '../../../../../node/shard/command/transaction-id.ts'
import type { RemoteShard } from '../../../../../node/shard/remote/remote-shard.ts'
import { ShardRefusal } from '../../../../../node/shard/remote/wire/call-head.ts'
import { OPERATIONS } from '../../../../../node/shard/remote/shard-calls.ts'
import { STREAMED_CALLS } from '../../../../../node/shard/remote/streamed-calls.ts'
import { EVERYTHING, RemoteWorld } from '../../../../support/worlds/remote-world.ts'
import { answerMessages } from '../../../../support/worlds/shard-call-samples.ts'
import { memoryBound } from '../../../../support/worlds/shard-world.ts'

const key = Buffer.from('k')
const id = buildTransactionId(TIMESTAMP_ZERO, '0123456789abcdef')
const { signal } = new AbortController()
const STREAMS = new Set(STREAMED_CALLS.map(({ operation }) => operation))

interface Messages {
  now: readonly Buffer[]
}

/** Every stream is answered by all messages, and every call by the first. */
function handlersOf(messages: Messages): PeerHandlers {
  const stream: PeerHandler = {
    kind: 'stream',
    async *handle() {
      yield* messages.now
    },
  }
  const call: PeerHandler = {
    kind: 'call',
    handle: async () => messages.now[0] ?? Buffer.alloc(0),
  }
  const operations = Object.values(OPERATIONS)
  return new Map(operations.map((number) => [number, STREAMS.has(number) ? stream : call]))
}

async function scanned(remote: RemoteShard): Promise<unknown> {
  const options = { range: EVERYTHING, at: TIMESTAMP_ZERO, signal }
  return Array.fromAsync(await remote.scan(options))
}

const asked = {
  kind: 'text',
  question: 'suggest',
  request: { query: { kind: 'all', boost: 1 } },
} as const
const write = { checks: [], ops: [], ttl: undefined }

const CALLS: Readonly<
  Record<string, (this: void, remote: RemoteShard, deadlineMs: number) => Promise<unknown>>
> = {
  read: (remote) => remote.read(key),
  scan: scanned,
  write: (remote) => remote.write(write),
  decide: (remote) => {
    const command = { transactionId: id, anchor: key, decision: 'abort' } as const
    return remote.decide({ ...command, commitAtLeast: TIMESTAMP_ZERO })
  },
  resolve: (remote) => remote.resolve({ transactionId: id, decision: { state: 'aborted' } }),
  forget: (remote) => remote.forget(id, key),
  search: (remote, deadlineMs) => remote.search('text', asked, { signal, deadlineMs }),
  indexPosition: (remote, deadlineMs) =>
    remote.indexPosition('text', { signal, deadlineMs, atLeast: 0 }),
  indexStatus: (remote) => remote.indexStatus('text'),
  stats: (remote) => remote.stats(),
  state: (remote) => remote.state(),
}

const TIMEOUT_MS = 100
const OUR_CODES = ['INTERNAL', 'UNAVAILABLE', 'NOT_LEADER', 'DEADLINE_EXCEEDED']
const samples = Object.values(answerMessages())
/** To "read": the document is long, and has to be asked for as a stream. */
const ASK_FOR_STREAM = Buffer.from([2, 2])
const nonsense = fc.oneof(
  fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
  fc.tuple(fc.constantFrom(...samples), fc.nat(), fc.nat(255)).map(([sample, at, byte]) => {
    const bytes = Buffer.from(sample)
    bytes[at % bytes.length] = byte
    return bytes
  }),
  fc
    .tuple(fc.constantFrom(...samples), fc.nat())
    .map(([sample, at]) => sample.subarray(0, at % sample.length)),
)

for (const [name, call] of Object.entries(CALLS)) {
  it(`nonsense in place of an answer to ${name} is an answer or an error of a known code`, async () => {
    const clock = new ManualClock()
    const hybridClock = await HybridClock.open(clock, memoryBound)
    await using world = await RemoteWorld.open({ clock, hybridClock })
    const messages: Messages = { now: [] }
    await world.addHandlers('a', handlersOf(messages))
    const remote = world.remote(TIMEOUT_MS)

    await fc.assert(
      fc.asyncProperty(fc.array(nonsense, { minLength: 1, maxLength: 3 }), async (now) => {
        messages.now = now
        world.places.leader = { node: 'a', epoch: 1 }
        try {
          await world.settled(call(remote, clock.monotonicMs() + TIMEOUT_MS))
        } catch (error) {
          expect(isServiceError(error), String(error)).to.equal(true)
          // These would blame our disk, or say that nothing happened; a refusal that came may say anything.
          const isOurs = !(error instanceof ShardRefusal)
          if (isOurs) expect(error).to.have.property('code').that.is.oneOf(OUR_CODES)
        }
      }),
      { numRuns: 60, examples: [[[ASK_FOR_STREAM]]] },
    )
    expect(world.faults).to.deep.equal([])
  })
}
