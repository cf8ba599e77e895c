// What a leader may still say when another one leads, or when its own leadership ends in the middle of an answer.

import { expect } from 'chai'
import {
  OFFSET_MAX_MS,
  TIMESTAMP_ZERO,
  timestampAtMs,
  timestampOf,
} from '../../../../node/clock/hybrid-clock.ts'
import { REPLICATION_TIMING } from '../../../../node/replication/core/timing.ts'
import type { Decision, TransactionStatus } from '../../../../node/shard/command/command.ts'
import {
  buildTransactionId,
  type TransactionId,
} from '../../../../node/shard/command/transaction-id.ts'
import { jsonOf } from '../../../../node/shard/format/document-record.ts'
import type { Shard } from '../../../../node/shard/shard.ts'
import { errorOf } from '../../../support/error-of.ts'
import { ReplicatedWorld, type TestNode } from '../../../support/worlds/replicated-world.ts'
import { intervalOfKey, routesTo } from '../../../support/worlds/routes.ts'
import { putOp, withMethods } from '../../../support/worlds/shard-world.ts'

const KEY = Buffer.from('k')
const ANCHOR = { tableId: 't', key: KEY }
const AHEAD_MS = 400
const conditions = {
  query: undefined,
  filter: undefined,
  exclusion: undefined,
  keyPrefix: undefined,
}
const STATISTICS_ASKED = {
  kind: 'text',
  question: 'statistics',
  request: { conditions },
} as const
const NO_COMMIT_BELOW = { commitAtLeast: TIMESTAMP_ZERO }

function newId(world: ReplicatedWorld): TransactionId {
  return buildTransactionId(timestampAtMs(world.clock.nowMs()), '0123456789abcdef')
}

async function valueAt(node: TestNode): Promise<unknown> {
  const record = await node.shard.read(KEY)
  return record === undefined ? undefined : JSON.parse(jsonOf(record).toString()).value
}

function prepareAt({ shard }: TestNode, transactionId: TransactionId) {
  const begin = { participants: [intervalOfKey(ANCHOR)] }
  const ops = [putOp('k', 'new')]
  return shard.prepare({ transactionId, anchor: ANCHOR, begin, checks: [], ops, ttl: undefined })
}

async function openAtFirst(world: ReplicatedWorld): Promise<TestNode> {
  const leader = world.node('n1')
  await world.until(() => leader.isServing)
  const ops = [putOp('k', 'old')]
  await world.when(leader.shard.write({ checks: [], ops, ttl: undefined }))
  return leader
}

/** As a controller elects when a leader is away: without the first node, which hears of nothing and cannot ask. */
function depose(world: ReplicatedWorld, next: TestNode): void {
  world.isLost = (from, to) => from === 'n1' || to === 'n1'
  world.isDeaf = (node) => node === 'n1'
  world.control.isAway = true
  const { configuration } = world.control
  const inSync = configuration.inSync.filter(({ node }) => node !== 'n1')
  world.control.write({ ...configuration, epoch: 2, leader: next.replica, inSync })
}

describe('a leader that was deposed', () => {
  it('is followed by another one without the wait for a heartbeat', async () => {
    await using world = await ReplicatedWorld.open()
    const [, next] = [await openAtFirst(world), world.node('n2')]
    // No replica knows what it granted before it was started.
    await world.until(() => world.clock.monotonicMs() > REPLICATION_TIMING.grantMs)
    const beganMs = world.clock.monotonicMs()

    world.control.elect(next.replica)
    await world.until(() => next.isServing)

    expect(world.clock.monotonicMs() - beganMs).to.be.lessThan(REPLICATION_TIMING.heartbeatMs)
  })

  it('has shown no time at which its successor, whose clock is behind, commits something', async () => {
    await using world = await ReplicatedWorld.open({ aheadMs: [AHEAD_MS, 0, 0] })
    const [old, next] = [await openAtFirst(world), world.node('n2')]
    depose(world, next)
    let shown = TIMESTAMP_ZERO
    const range = { start: Buffer.alloc(0), end: undefined }
    const { signal } = new AbortController()
    await world.until(() => {
      const at = timestampAtMs(world.clock.nowMs() + AHEAD_MS)
      old.shard.scan({ range, at, signal }).then(
        () => (shown = at),
        () => undefined,
      )
      return next.isServing
    })

    const ops = [putOp('k', 'new')]
    const written = await world.when(next.shard.write({ checks: [], ops, ttl: undefined }))

    expect(written.kind === 'written' && written.version > shown).to.equal(true)
  })

  it('does not search: its index lacks what its successor has acknowledged', async () => {
    await using world = await ReplicatedWorld.open()
    const [old, next] = [await openAtFirst(world), world.node('n2')]
    depose(world, next)
    await world.until(() => next.isServing)
    expect(old.isServing).to.equal(true)
    const { signal } = new AbortController()
    const limits = { signal, deadlineMs: Infinity }

    const answer = errorOf(() => old.shard.search('text', STATISTICS_ASKED, limits))

    expect(await world.when(answer)).to.include({ code: 'NOT_LEADER' })
  })

  it('does not say that a transaction is pending which its successor has committed', async () => {
    await using world = await ReplicatedWorld.open()
    const [old, next] = [await openAtFirst(world), world.node('n2')]
    const transactionId = newId(world)
    await world.when(prepareAt(old, transactionId))
    depose(world, next)
    await world.until(() => next.isServing)
    const command = { transactionId, anchor: KEY, decision: 'commit', ...NO_COMMIT_BELOW } as const
    const decided = await world.when(next.shard.decide(command))
    expect(decided.state).to.equal('committed')
    expect(old.isServing).to.equal(true)

    const push = { transactionId, anchor: KEY, above: timestampOf(1n), expired: false }
    const answer = errorOf(() => old.shard.push(push))

    expect(await world.when(answer)).to.include({ code: 'NOT_LEADER' })
  })

  it('does not read past a resolution that the end of its leadership took back', async () => {
    const asked = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<TransactionStatus>()
    const late: { anchor?: Shard } = {}
    const router = routesTo(() => late.anchor)
    await using world = await ReplicatedWorld.open({ router })
    const [old, next] = [await openAtFirst(world), world.node('n2')]
    late.anchor = withMethods(old.shard, {
      push: () => {
        asked.resolve()
        return answered.promise
      },
    })
    const transactionId = newId(world)
    await world.when(prepareAt(old, transactionId))
    const command = { transactionId, anchor: KEY, decision: 'commit', ...NO_COMMIT_BELOW } as const
    const decision: Decision = await world.when(old.shard.decide(command))
    const reading = errorOf(() => valueAt(old))
    await asked.promise
    world.isLost = (from, to) => from === 'n1' || to === 'n1'
    const resolved = errorOf(() => old.shard.resolve({ transactionId, decision }))
    await world.step()

    world.control.elect(next.replica)
    await world.until(() => !old.isServing)
    answered.resolve(decision)

    expect(await world.when(reading)).to.include({ code: 'NOT_LEADER' })
    expect(await world.when(resolved)).to.include({ code: 'UNAVAILABLE' })
  })

  it('shows nothing when it leads again before it knows the holds of today', async () => {
    await using world = await ReplicatedWorld.open()
    const [again, other] = [await openAtFirst(world), world.node('n2')]
    const transactionId = newId(world)
    await world.when(prepareAt(again, transactionId))
    const command = { transactionId, anchor: KEY, decision: 'commit', ...NO_COMMIT_BELOW } as const
    const decision = await world.when(again.shard.decide(command))
    world.control.elect(other.replica)
    await world.until(() => other.isServing)
    await world.when(other.shard.resolve({ transactionId, decision }))
    const ops = [putOp('k', 'newest')]
    await world.when(other.shard.write({ checks: [], ops, ttl: undefined }))
    const seen: Promise<unknown>[] = []
    const { store } = again.shard
    const pages = store.pages.bind(store)
    // The memory is built again from these pages.
    store.pages = (range) => {
      seen.push(valueAt(again).catch(() => 'refused'))
      return pages(range)
    }

    world.control.elect(again.replica)
    await world.until(() => again.isServing)

    seen.push(valueAt(again))
    const values = await world.when(Promise.all(seen))
    expect(values.length).to.be.greaterThan(1)
    expect(values.at(-1)).to.equal('newest')
    expect(values).to.not.include('new')
  })
})

describe('a leader that is to read at a time far ahead of its clock', () => {
  it('refuses without blaming the client, since the clocks of two nodes differ', async () => {
    await using world = await ReplicatedWorld.open()
    const { shard } = await openAtFirst(world)
    const at = timestampAtMs(world.clock.nowMs() + 2 * OFFSET_MAX_MS)
    const range = { start: Buffer.alloc(0), end: undefined }
    const { signal } = new AbortController()

    const error = await world.when(errorOf(() => shard.scan({ range, at, signal })))

    expect(error).to.include({ code: 'UNAVAILABLE' })
  })
})
