// How followers carry entries into their stores. No time passes in these tests unless they say so.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { ReplicatedWorld, type TestNode } from '../../../support/worlds/replicated-world.ts'
import { putOp } from '../../../support/worlds/shard-world.ts'

const TURNS_MAX = 20_000

function write({ shard }: TestNode, name: string, value: unknown = 1) {
  return shard.write({ checks: [], ops: [putOp(name, value)], ttl: undefined })
}

/** Lets work be done while the clocks stand still. */
async function untilDone(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    if (condition()) return
    await nextTurn()
  }
  expect.fail('the condition never held')
}

async function whenDone<Answer>(answer: Promise<Answer>): Promise<Answer> {
  let isSettled = false
  const settle = (): void => void (isSettled = true)
  answer.then(settle, settle)
  await untilDone(() => isSettled)
  return answer
}

/** n1 leads, and all stores have all that is committed. */
async function openWorld(): Promise<ReplicatedWorld> {
  const world = await ReplicatedWorld.open()
  await world.until(() => world.node('n1').isServing)
  await world.when(write(world.leader, 'first'))
  const { committedSequence } = world.leader.shard
  await world.until(() => world.nodes.every((node) => hasApplied(node, committedSequence)))
  return world
}

function hasApplied({ shard }: TestNode, sequence: number): boolean {
  return shard.appliedSequence >= sequence
}

describe('the store of a follower', () => {
  it('takes small entries together, some milliseconds after they are committed', async () => {
    await using world = await openWorld()
    const follower = world.node('n2')
    const before = follower.shard.appliedSequence
    for (const name of ['a', 'b', 'c']) await whenDone(write(world.leader, name))
    expect(follower.shard.appliedSequence).to.equal(before)
    const known = before + 2 // the last message told of the second write
    const applied: number[] = []
    follower.shard.onApplied(() => applied.push(follower.shard.appliedSequence))

    world.clock.advance(5)
    await untilDone(() => hasApplied(follower, known))

    expect(applied).to.deep.equal([known])
  })

  it('takes long entries at once', async () => {
    await using world = await openWorld()
    const follower = world.node('n2')
    const sequence = follower.shard.appliedSequence + 1

    await whenDone(write(world.leader, 'long', 'x'.repeat(300 * 1024)))
    await whenDone(write(world.leader, 'b')) // which tells that the first is committed

    await untilDone(() => hasApplied(follower, sequence))
  })

  it('is complete at once when the follower takes over, or closes', async () => {
    await using world = await openWorld()
    const [old, next, other] = [world.node('n1'), world.node('n2'), world.node('n3')]
    // No replica knows what it granted before it was started.
    for (let step = 0; step < 50; step++) await world.step()
    for (const name of ['a', 'b', 'c']) await whenDone(write(old, name))

    world.control.elect(next.replica)
    await untilDone(() => next.isServing)

    expect((await whenDone(write(next, 'd'))).kind).to.equal('written')
    await whenDone(world.kill(other))
  })
})
