import { expect } from 'chai'
import { must } from '../../../../../lib/assert.ts'
import { millisOf } from '../../../../../node/clock/hybrid-clock.ts'
import { ReplicatedWorld, type TestNode } from '../../../../support/worlds/replicated-world.ts'
import { putOp } from '../../../../support/worlds/shard-world.ts'

const BEATS_PER_SECOND = 4
/** How often a leader tells followers that rest how far time is closed. */
const CLOSED_SECONDS = 1

function write(node: TestNode, name: string) {
  return node.shard.write({ checks: [], ops: [putOp(name, 1)], ttl: undefined })
}

function restingAt(node: TestNode): number {
  return must(node.running, node.id).host.restingCount
}

function logOf(node: TestNode) {
  return must(node.shard.replicated, 'a replicated shard').log
}

/** n1 leads, and both followers rest. */
async function restingWorld(): Promise<ReplicatedWorld> {
  const world = await ReplicatedWorld.open()
  await world.until(() => world.node('n1').isServing)
  await world.when(write(world.leader, 'a'))
  await world.until(() => restingAt(world.node('n1')) === 2)
  return world
}

async function pass(world: ReplicatedWorld, ms: number): Promise<void> {
  const untilMs = world.clock.monotonicMs() + ms
  await world.until(() => world.clock.monotonicMs() >= untilMs)
}

describe('beats that shards of two nodes share', () => {
  it('take the place of all messages of a shard in which nothing happens', async () => {
    await using world = await restingWorld()
    const before = { ...world.sent }

    await pass(world, 10_000)

    expect(world.sent.messages - before.messages).to.be.at.most(2 * (10 / CLOSED_SECONDS + 1))
    // A beat and an answer for each follower.
    expect(world.sent.beats - before.beats).to.be.within(
      4 * (10 * BEATS_PER_SECOND - 2),
      4 * 10 * BEATS_PER_SECOND,
    )
    expect(world.sent.bytes - before.bytes).to.be.lessThan(10 * 4 * 4 * 50 + 22 * 50)
    expect(world.control.configuration.inSync).to.have.length(3)
  })

  it('open the ways between all nodes of a shard before one of them leads the others', async () => {
    await using world = await ReplicatedWorld.open()
    const ways = new Set<string>()
    world.isLost = (from, to) => {
      ways.add(`${from}→${to}`)
      return false
    }

    await pass(world, 500)

    expect(ways).to.include.keys('n2→n3', 'n3→n2', 'n2→n1', 'n3→n1')
  })

  it('grant reads at the leader without a message', async () => {
    await using world = await restingWorld()
    await pass(world, 10_000)

    expect(logOf(world.leader).read()).to.equal(true)
    expect(restingAt(world.leader), 'a read wakes nobody').to.equal(2)
  })

  it('end for a shard that is written, and begin again after it', async () => {
    await using world = await restingWorld()
    const { leader } = world

    const writing = write(leader, 'b')
    await world.until(() => restingAt(leader) === 0)
    await world.when(writing)
    await world.until(() => restingAt(leader) === 2)

    const { messages } = world.sent
    await pass(world, 3000)
    expect(world.sent.messages - messages).to.be.at.most(2 * 4)
  })

  it('let the followers show what is nearly present, without an end of the rest', async () => {
    await using world = await restingWorld()
    const ages: number[] = []
    await pass(world, 10_000)

    for (let second = 0; second < 20; second++) {
      await pass(world, 1000)
      for (const id of ['n2', 'n3']) {
        const { shard } = world.node(id)
        ages.push(world.clock.nowMs() - millisOf(await shard.closedTime()))
      }
      expect(restingAt(world.leader)).to.equal(2)
    }

    expect(Math.max(...ages)).to.be.lessThan(2.5 * CLOSED_SECONDS * 1000)
  })

  it('close no time that a replica in sync has not heard of', async () => {
    await using world = await restingWorld()
    await pass(world, 10_000)
    world.isLost = (from, to) => from === 'n3' || to === 'n3'
    world.control.isAway = true // n3 stays in sync, and may lead later
    await pass(world, 1000)
    const before = await world.node('n2').shard.closedTime()

    await pass(world, 20_000)

    expect(await world.node('n2').shard.closedTime()).to.equal(before)
  })

  it('tell a leader that a follower is gone, which leaves the in-sync set', async () => {
    await using world = await restingWorld()

    world.isLost = (from, to) => from === 'n3' || to === 'n3'

    await world.until(() => world.control.configuration.inSync.length === 2)
    world.isLost = () => false
    await world.until(() => world.control.configuration.inSync.length === 3)
    await world.until(() => restingAt(world.leader) === 2)
  })

  it('keep a follower from a newer leader until the old one cannot read any more', async () => {
    await using world = await restingWorld()
    const [n1, n2] = [world.node('n1'), world.node('n2')]
    world.isLost = (from, to) => from === 'n1' || to === 'n1'
    world.isDeaf = (node) => node === 'n1'
    world.control.isAway = true

    world.control.elect(n2.replica)

    let granted = 0
    await world.until(() => {
      const mayRead = logOf(n1).read()
      if (mayRead !== true) mayRead.catch(() => undefined) // refused after a time
      if (mayRead === true) {
        granted += 1
        expect(n2.shard.replicated?.isServing, 'two leaders serve reads').to.equal(false)
      }
      world.control.isAway = granted > 0 && mayRead === true
      return n2.isServing
    })
    expect(granted).to.be.greaterThan(10)
  })

  it('wake a leader that was replaced while it rested', async () => {
    await using world = await restingWorld()
    const [n1, n2] = [world.node('n1'), world.node('n2')]
    world.isDeaf = (node) => node === 'n1'

    world.control.elect(n2.replica)

    await world.until(() => n2.isServing && !n1.isServing)
    await world.until(() => restingAt(n2) === 2)
    expect(restingAt(n1)).to.equal(0)
  })

  it('do not count for reads after the machine of the leader has slept', async () => {
    await using world = await restingWorld()
    const { leader } = world
    expect(logOf(leader).read()).to.equal(true)

    world.clock.suspend(5000)

    const reading = logOf(leader).read()
    expect(reading, 'the grants may have ended meanwhile').not.to.equal(true)
    await world.when(Promise.resolve(reading))
    await world.until(() => logOf(leader).read() === true)
  })

  it('begin anew with a follower that has restarted', async () => {
    await using world = await restingWorld()
    const n3 = world.node('n3')

    await world.kill(n3)
    await world.restart(n3)

    await world.until(() => restingAt(world.leader) === 2)
    await world.when(write(world.leader, 'c'))
    await world.until(() => restingAt(world.leader) === 2)
  })

  it('are not answered by a node that is closed', async () => {
    await using world = await restingWorld()
    await must(world.node('n2').running, 'n2').host.close()
    await pass(world, 1000) // what it had sent has come
    let answers = 0
    let asked = 0
    world.isLost = (from, to) => {
      if (from === 'n2') answers += 1
      if (to === 'n2') asked += 1
      return false
    }

    await pass(world, 10_000)

    expect(asked).to.be.above(0)
    expect(answers).to.equal(0)
  })
})
