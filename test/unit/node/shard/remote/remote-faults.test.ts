// Every method of Shard through every fault: a new method does not compile until it has its row.

import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { ServiceError } from '../../../../../lib/errors.ts'
import {
  HybridClock,
  timestampAtMs,
  TIMESTAMP_ZERO,
} from '../../../../../node/clock/hybrid-clock.ts'
import { buildTransactionId } from '../../../../../node/shard/command/transaction-id.ts'
import {
  INDEX_STATUS,
  STATISTICS,
  type ShardMethod,
} from '../../../../support/fakes/watched-shard.ts'
import { RemoteBench, TIMEOUT_MS } from '../../../../support/worlds/remote-bench.ts'
import { EVERYTHING } from '../../../../support/worlds/remote-world.ts'
import { intervalOfKey } from '../../../../support/worlds/routes.ts'
import { memoryBound, putOp } from '../../../../support/worlds/shard-world.ts'

const key = Buffer.from('k')

interface Row {
  /** Whether a call with an unknown outcome is made again. */
  readonly isRepeatable: boolean
  call(this: void, bench: RemoteBench, signal: AbortSignal): Promise<unknown>
  /** The end of a call whose leader never answers, without the caller's help. */
  readonly lateEnd?: string
}

const id = buildTransactionId(TIMESTAMP_ZERO, '0123456789abcdef')
const anchor = { tableId: 't', key }
const write = { checks: [], ops: [putOp('k', 1)], ttl: undefined }
const prepare = {
  ...write,
  transactionId: id,
  anchor,
  begin: { participants: [intervalOfKey(anchor)] },
}
const conditions = {
  query: undefined,
  filter: undefined,
  exclusion: undefined,
  keyPrefix: undefined,
}
const asked = { kind: 'text', question: 'statistics', request: { conditions } } as const

const ROWS: Readonly<Record<Exclude<ShardMethod, 'hurry' | 'indexAtOnce'>, Row>> = {
  read: { isRepeatable: true, call: async ({ remote }, signal) => remote.read(key, { signal }) },
  artifacts: {
    isRepeatable: true,
    call: ({ remote }, signal) =>
      remote.artifacts({ keys: [key], indexes: ['0123456789abcdef'] }, { signal }),
  },
  moment: {
    isRepeatable: true,
    call: ({ remote }, signal) => remote.moment(EVERYTHING, { signal }),
  },
  scan: { isRepeatable: true, call: (bench, signal) => bench.scan(signal) },
  pinHistory: {
    isRepeatable: true,
    call: ({ remote }, signal) =>
      remote.pinHistory({ reader: 'n', at: TIMESTAMP_ZERO }, { signal }),
  },
  write: { isRepeatable: false, call: ({ remote }, signal) => remote.write(write, { signal }) },
  prepare: {
    isRepeatable: true,
    call: ({ remote }, signal) => remote.prepare(prepare, { signal }),
  },
  prepareInOrder: {
    isRepeatable: true,
    call: ({ remote }, signal) => remote.prepareInOrder(prepare, { signal }),
  },
  decide: {
    isRepeatable: true,
    call: ({ remote }, signal) => {
      const command = { transactionId: id, anchor: key, decision: 'abort' } as const
      return remote.decide({ ...command, commitAtLeast: TIMESTAMP_ZERO }, { signal })
    },
  },
  resolve: {
    isRepeatable: true,
    call: ({ remote }) => remote.resolve({ transactionId: id, decision: { state: 'aborted' } }),
  },
  forget: { isRepeatable: true, call: ({ remote }) => remote.forget(id, key) },
  push: {
    isRepeatable: true,
    call: ({ remote }, signal) => {
      const push = { transactionId: id, anchor: key, above: TIMESTAMP_ZERO, expired: true }
      return remote.push(push, { signal })
    },
  },
  heartbeat: { isRepeatable: true, call: ({ remote }, signal) => remote.heartbeat(id, { signal }) },
  waitForRelease: {
    isRepeatable: true,
    lateEnd: 'resolves',
    call: ({ remote }, signal) => remote.waitForRelease(id, { timeoutMs: 2000, signal }),
  },
  search: {
    isRepeatable: true,
    lateEnd: 'DEADLINE_EXCEEDED',
    call: ({ remote, clock }, signal) => {
      const deadlineMs = clock.monotonicMs() + TIMEOUT_MS
      return remote.search('text', asked, { signal, deadlineMs })
    },
  },
  indexPosition: {
    isRepeatable: true,
    call: ({ remote, clock }, signal) => {
      const deadlineMs = clock.monotonicMs() + TIMEOUT_MS
      return remote.indexPosition('text', { signal, deadlineMs, atLeast: 0 })
    },
  },
  indexStatus: { isRepeatable: true, call: ({ remote }) => remote.indexStatus('text') },
  waitForIndexes: {
    isRepeatable: true,
    lateEnd: 'the signal',
    call: ({ remote }, signal) => remote.waitForIndexes({ signal }),
  },
  stats: { isRepeatable: true, call: ({ remote }, signal) => remote.stats({ signal }) },
  state: { isRepeatable: true, call: ({ remote }, signal) => remote.state({ signal }) },
}

/** Its method at the shard that answers. */
const servedAs = (method: string) => (method === 'prepareInOrder' ? 'prepare' : method)
const codeOf = (outcome: object): unknown =>
  'error' in outcome && outcome.error instanceof ServiceError ? outcome.error.code : outcome

function expectAnswer(outcome: object): void {
  expect(outcome).to.have.property('value')
}

for (const [method, { isRepeatable, call }] of Object.entries(ROWS)) {
  describe(`RemoteShard.${method} under faults`, () => {
    it('asks the leader that a node names', async () => {
      await using bench = await RemoteBench.open()
      bench.found.a = { kind: 'not-here', leader: 'b', epoch: 2 }

      const outcome = await bench.outcome(call(bench, new AbortController().signal))

      expectAnswer(outcome)
      expect(bench.world.places.hints).to.deep.include({ leader: 'b', epoch: 2 })
      expect(bench.watched.calls).to.deep.equal([servedAs(method)])
    })

    it('asks again when the shard loses its leadership during the call', async () => {
      await using bench = await RemoteBench.open()
      bench.watched.before = async () => {
        bench.found.a = { kind: 'not-here', leader: 'b', epoch: 2 }
        bench.watched.release()
        throw new ServiceError('NOT_LEADER', 'deposed')
      }

      const outcome = await bench.outcome(call(bench, new AbortController().signal))

      expectAnswer(outcome)
      expect(bench.watched.calls).to.deep.equal([servedAs(method), servedAs(method)])
    })

    it('waits for a leader to be known', async () => {
      await using bench = await RemoteBench.open()
      const { places } = bench.world
      places.leader = undefined

      const calling = bench.outcome(call(bench, new AbortController().signal))
      const since = bench.clock.monotonicMs()
      await bench.world.until(() => bench.clock.monotonicMs() > since + 1000)
      places.leader = { node: 'b', epoch: 2 }

      expectAnswer(await calling)
    })

    it('asks the new leader when the node does not take connections', async () => {
      await using bench = await RemoteBench.open()
      await bench.world.close('a')

      const calling = bench.outcome(call(bench, new AbortController().signal))
      const since = bench.clock.monotonicMs()
      await bench.world.until(() => bench.clock.monotonicMs() > since + 500)
      bench.world.places.leader = { node: 'b', epoch: 2 }

      expectAnswer(await calling)
    })

    it(`${isRepeatable ? 'asks again' : 'tells that the outcome is unknown'} when the connection is lost during the call`, async () => {
      await using bench = await RemoteBench.open()
      await bench.connect()
      bench.watched.hold()
      const calling = bench.outcome(call(bench, new AbortController().signal))
      await bench.world.until(() => bench.watched.calls.length === 1)

      bench.watched.release()
      bench.world.cut('a')

      const outcome = await calling
      if (isRepeatable) expectAnswer(outcome)
      else expect(codeOf(outcome)).to.equal('UNAVAILABLE')
      expect(bench.watched.calls).to.have.length(isRepeatable ? 2 : 1)
    })

    it(`${isRepeatable ? 'asks again' : 'tells that the outcome is unknown'} when the answer vanishes`, async () => {
      await using bench = await RemoteBench.open()
      await bench.connect()
      bench.world.swallowAnswers('a', true)
      const calling = bench.outcome(call(bench, new AbortController().signal))
      await bench.world.until(() => bench.watched.calls.length > 0)

      bench.world.places.leader = { node: 'b', epoch: 1 }

      const outcome = await calling
      if (isRepeatable) expectAnswer(outcome)
      else expect(codeOf(outcome)).to.equal('UNAVAILABLE')
    })

    it('never says that nothing happened when an earlier try may have had its effect', async () => {
      await using bench = await RemoteBench.open()
      await bench.connect()
      bench.watched.hold()
      const calling = bench.outcome(call(bench, new AbortController().signal))
      await bench.world.until(() => bench.watched.calls.length === 1)
      bench.watched.before = async () => {
        throw new ServiceError('OVERLOADED', 'too many writes wait')
      }

      bench.world.cut('a')

      expect(codeOf(await calling)).to.equal('UNAVAILABLE')
    })

    it('passes the refusal of the shard on, and does not ask again', async () => {
      await using bench = await RemoteBench.open()
      bench.watched.before = async () => {
        throw new ServiceError('RANGE_MOVED', 'another shard owns the key "ä"')
      }

      const outcome = await bench.outcome(call(bench, new AbortController().signal))

      expect(codeOf(outcome)).to.equal('RANGE_MOVED')
      expect(bench.watched.calls).to.have.length(1)
    })

    it('tells of a fault of the other node, whose log has the error', async () => {
      await using bench = await RemoteBench.open()
      bench.watched.before = async () => {
        throw new TypeError('a bug')
      }

      const outcome = await bench.outcome(call(bench, new AbortController().signal))

      expect(codeOf(outcome)).to.equal('INTERNAL')
      expect(bench.world.faults.map(String)).to.deep.equal(['TypeError: a bug'])
    })
  })
}

describe('RemoteShard when the leader hangs', () => {
  for (const [method, { call, lateEnd = 'UNAVAILABLE' }] of Object.entries(ROWS)) {
    it(`ends ${method} by ${lateEnd}`, async () => {
      await using bench = await RemoteBench.open()
      await bench.connect()
      bench.watched.hold()
      const caller = new AbortController()
      const since = bench.clock.monotonicMs()

      const calling = bench.outcome(call(bench, caller.signal))
      await bench.world.until(() => bench.clock.monotonicMs() > since + TIMEOUT_MS + 100)
      caller.abort(new RangeError('the signal'))

      const outcome = await calling
      const seen = 'value' in outcome ? 'resolves' : codeOf(outcome)
      expect(typeof seen === 'string' ? seen : 'the signal').to.equal(lateEnd)
      bench.watched.release()
    })
  }

  it('tells that nothing happened when no leader is known until the deadline', async () => {
    await using bench = await RemoteBench.open()
    bench.world.places.leader = undefined

    const outcome = await bench.outcome(bench.remote.write(write))

    expect(codeOf(outcome)).to.equal('NOT_LEADER')
  })
})

describe('RemoteShard', () => {
  it('aborts the call at the other node when its caller leaves', async () => {
    await using bench = await RemoteBench.open()
    await bench.connect()
    const aborted: unknown[] = []
    bench.watched.before = (signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => {
          aborted.push(signal.reason)
          reject(signal.reason)
        })
      })
    const caller = new AbortController()
    const calling = bench.outcome(bench.remote.write(write, { signal: caller.signal }))
    await bench.world.until(() => bench.watched.calls.length === 1)

    caller.abort(new RangeError('gone'))

    expect(await calling).to.deep.equal({ error: caller.signal.reason })
    await bench.world.until(() => aborted.length === 1)
  })

  it('hurries the shard of the leader', async () => {
    await using bench = await RemoteBench.open()
    await bench.connect()

    bench.remote.hurry()

    await bench.world.until(() => bench.watched.calls.includes('hurry'))
  })

  it('hurries nobody, and says nothing, when no leader is known', async () => {
    await using bench = await RemoteBench.open()
    bench.world.places.leader = undefined

    bench.remote.hurry()

    expectAnswer(await bench.outcome(new Promise((resolve) => setImmediate(resolve))))
    expect(bench.watched.calls).to.deep.equal([])
  })

  it('is refused by a node of an older epoch, and served by one of a newer one', async () => {
    await using bench = await RemoteBench.open()
    bench.world.places.leader = { node: 'a', epoch: 3 }
    bench.found.b = { kind: 'here', shard: bench.watched.shard, epoch: 4 }

    const calling = bench.outcome(bench.remote.write(write))
    await bench.world.until(() => bench.world.places.hints.length > 0)
    bench.world.places.leader = { node: 'b', epoch: 3 }

    expectAnswer(await calling)
    expect(bench.watched.calls).to.deep.equal(['write'])
    expect(bench.world.places.leader).to.deep.equal({ node: 'b', epoch: 4 })
  })

  it('refuses an answer of a clock that is too far ahead', async () => {
    await using bench = await RemoteBench.open()
    const ahead = new ManualClock(bench.clock.nowMs() + 2000)
    await bench.world.addNode('c', () => bench.found.b, await HybridClock.open(ahead, memoryBound))
    bench.world.places.leader = { node: 'c', epoch: 1 }

    const outcomes = [
      await bench.outcome(bench.remote.read(key)),
      await bench.outcome(bench.remote.forget(id, key)),
    ]

    expect(codeOf(outcomes[0] ?? {})).to.equal('UNAVAILABLE')
    expectAnswer(outcomes[1] ?? {}) // a bad clock keeps no transaction from its end
  })

  it('is refused by a node whose clock is too far behind, before anything happens', async () => {
    await using bench = await RemoteBench.open()
    const behind = new ManualClock(bench.clock.nowMs() - 2000)
    await bench.world.addNode('c', () => bench.found.b, await HybridClock.open(behind, memoryBound))
    bench.world.places.leader = { node: 'c', epoch: 1 }

    const outcome = await bench.outcome(bench.remote.write(write))

    expect(codeOf(outcome)).to.equal('UNAVAILABLE')
    expect(bench.watched.calls).to.deep.equal([])
  })

  it('is refused when it tells a time hours ahead, and moves no clock', async () => {
    await using bench = await RemoteBench.open()
    const far = timestampAtMs(bench.clock.nowMs() + 5 * 3_600_000)
    const decision = { state: 'committed', commitTs: far } as const
    const decide = { transactionId: id, anchor: key, decision: 'commit' } as const

    const outcomes = [
      await bench.outcome(bench.remote.resolve({ transactionId: id, decision })),
      await bench.outcome(bench.remote.decide({ ...decide, commitAtLeast: far })),
      await bench.outcome(
        bench.remote.push({ transactionId: id, anchor: key, above: far, expired: false }),
      ),
    ]

    expect(outcomes.map(codeOf)).to.deep.equal(Array(3).fill('INVALID_ARGUMENT'))
    expect(bench.watched.calls).to.deep.equal([])
    expect(bench.hybridClock.now() < far).to.equal(true)
  })

  it('tells of released keys before the resolution is durable, once', async () => {
    await using bench = await RemoteBench.open()
    await bench.world.settled(bench.remote.prepare(prepare))
    const decide = {
      transactionId: id,
      anchor: key,
      decision: 'abort',
      commitAtLeast: TIMESTAMP_ZERO,
    } as const
    const decision = await bench.world.settled(bench.remote.decide(decide))
    const events: string[] = []

    const onReleased = (): void => void events.push('released')
    const resolving = bench.remote.resolve({ transactionId: id, decision }, { onReleased })
    await bench.world.settled(resolving.then(() => events.push('durable')))

    expect(events).to.deep.equal(['released', 'durable'])
  })

  it('answers what an index answers, with numbers and maps as they were', async () => {
    await using bench = await RemoteBench.open()
    const { signal } = new AbortController()

    const answer = await bench.world.settled(
      bench.remote.search('text', asked, { signal, deadlineMs: Infinity }),
    )
    const status = await bench.world.settled(bench.remote.indexStatus('text'))

    expect(answer).to.deep.equal(STATISTICS)
    expect(status).to.deep.equal(INDEX_STATUS)
  })
})
