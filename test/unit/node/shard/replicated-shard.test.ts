import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { BOUND_AHEAD_MS, HybridClock, timestampAtMs } from '../../../../node/clock/hybrid-clock.ts'
import { jsonOf } from '../../../../node/shard/format/document-record.ts'
import { ClusterShard } from '../../../../node/replicas/cluster-shard.ts'
import { FailedShard } from '../../../../node/replicas/tables/failed-shard.ts'
import { describeShard } from '../../../conformance/shard.ts'
import { errorOf } from '../../../support/error-of.ts'
import { deleteOp, memoryBound, putOp } from '../../../support/worlds/shard-world.ts'
import { ReplicatedWorld, type TestNode } from '../../../support/worlds/replicated-world.ts'

const key = (text: string): Buffer => Buffer.from(text)

function write(node: TestNode, name: string, value: unknown) {
  return node.shard.write({ checks: [], ops: [putOp(name, value)], ttl: undefined })
}

async function read(node: TestNode, name: string): Promise<string | undefined> {
  const found = await node.shard.read(key(name))
  return found === undefined ? undefined : JSON.parse(jsonOf(found).toString()).value
}

/** Everything that a replica's store holds, but for what each replica counts for itself. */
async function contentOf(node: TestNode): Promise<readonly string[]> {
  const rows: string[] = []
  const { running } = node
  if (running === undefined) return rows
  for await (const page of running.shard.store.pages({})) {
    for (const [at, value] of page) rows.push(`${at.toString('hex')}=${value.toString('hex')}`)
  }
  return rows
}

describeShard('ReplicatedShard', async (parts) => {
  const world = await ReplicatedWorld.open(parts)
  await world.until(() => world.node('n1').isServing)
  const { shard } = world.leader
  return { shard, led: shard.led, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
})

describeShard('ClusterShard whose node leads', async (parts) => {
  const world = await ReplicatedWorld.open(parts)
  await world.until(() => world.node('n1').isServing)
  const { shard } = world.leader
  const remote = new FailedShard(shard.id, parts.range, 'this node leads')
  const cluster = new ClusterShard({ local: () => shard, remote })
  return {
    shard: cluster,
    led: shard.led,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
})

describe('a replicated shard', () => {
  it('serves at the leader what all in-sync replicas have on disk', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)

    const outcome = await world.when(write(world.leader, 'a', 1))

    expect(outcome.kind).to.equal('written')
    expect(await world.when(read(world.leader, 'a'))).to.equal(1)
  })

  it('gives its leadership up when it cannot take over, so that another replica leads', async () => {
    await using world = await ReplicatedWorld.open()
    const [n1, n2] = [world.node('n1'), world.node('n2')]
    n1.led.add = () => {
      throw new Error('the store is out of order')
    }

    await world.until(() => world.control.configuration.leader === undefined)

    const members = world.control.configuration.inSync.map(({ node }) => node)
    expect(members).to.deep.equal(['n2', 'n3'])
    expect(n1.isServing).to.equal(false)
    world.control.elect(n2.replica)
    await world.until(() => n2.isServing)
    await world.when(write(n2, 'a', 1))
    await world.until(() => world.control.configuration.inSync.length === 3)
  })

  it('begins a leadership also while the bound of its clock cannot be saved', async () => {
    const clock = new ManualClock()
    let isFull = false
    const save = async (): Promise<void> => {
      if (isFull) throw new ServiceError('DISK_FULL', 'the disk is full')
    }
    const hybridClock = await HybridClock.open(clock, { ...memoryBound, save })
    isFull = true
    clock.advance(BOUND_AHEAD_MS)
    hybridClock.observe(timestampAtMs(clock.nowMs() + 100)) // of another node
    expect(() => hybridClock.now()).to.throw(ServiceError)

    await using world = await ReplicatedWorld.open({ clock, hybridClock })

    await world.until(() => world.node('n1').isServing)
    isFull = false
    await hybridClock.keepAhead()
    const outcome = await world.when(write(world.leader, 'a', 1))
    expect(outcome.kind).to.equal('written')
  })

  it('refuses reads and writes at followers, and nothing happens', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    const follower = world.node('n2')

    expect(await errorOf(() => write(follower, 'a', 1))).to.include({ code: 'NOT_LEADER' })
    expect(await errorOf(() => read(follower, 'a'))).to.include({ code: 'NOT_LEADER' })
  })

  it('brings every follower to the same content', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    const { leader } = world
    for (let at = 0; at < 40; at++) await world.when(write(leader, `k${at % 7}`, at))
    const ops = [deleteOp('k3')]
    await world.when(leader.shard.write({ checks: [], ops, ttl: undefined }))

    const applied = leader.shard.committedSequence
    await world.until(() => world.nodes.every(({ shard }) => shard.appliedSequence === applied))

    const expected = await contentOf(leader)
    expect(expected.length).to.be.greaterThan(40)
    for (const node of world.nodes) expect(await contentOf(node), node.id).to.deep.equal(expected)
  })

  it('keeps every acknowledged write when its leader loses power', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    for (let at = 0; at < 20; at++) await world.when(write(world.leader, `k${at}`, at))

    await world.kill(world.node('n1'))
    world.control.elect(world.node('n2').replica)
    await world.until(() => world.node('n2').isServing)

    for (let at = 0; at < 20; at++) {
      expect(await world.when(read(world.leader, `k${at}`)), `k${at}`).to.equal(at)
    }
    await world.when(write(world.leader, 'later', 1))
    expect(world.control.configuration.inSync.map(({ node }) => node)).to.not.include('n1')

    await world.restart(world.node('n1'))
    await world.until(() => world.control.configuration.inSync.length === 3)
    const applied = world.leader.shard.committedSequence
    await world.until(() => world.node('n1').shard.appliedSequence === applied)
    expect(await contentOf(world.node('n1'))).to.deep.equal(await contentOf(world.leader))
  })

  it('tells the writers of a leader that was cut off that their outcome is unknown', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    await world.when(write(world.leader, 'a', 1))
    world.isLost = (from, to) => from === 'n1' || to === 'n1'
    const lost = errorOf(() => write(world.node('n1'), 'a', 2))
    await world.until(() => {
      const log = world.node('n1').shard.replicated?.log
      return log !== undefined && log.durable > log.committed
    })

    world.control.elect(world.node('n2').replica)

    expect(await world.when(lost)).to.include({ code: 'UNAVAILABLE' })
    await world.until(() => world.node('n2').isServing)
    expect(await world.when(read(world.node('n2'), 'a'))).to.equal(1)
    world.isLost = () => false
    await world.when(write(world.node('n2'), 'a', 3))
    await world.until(() => world.control.configuration.inSync.length === 3)
    const applied = world.node('n2').shard.committedSequence
    await world.until(() => world.node('n1').shard.appliedSequence === applied)
    expect(await contentOf(world.node('n1'))).to.deep.equal(await contentOf(world.node('n2')))
  })

  it('refuses writes while too few replicas are in sync, and still serves reads', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    await world.when(write(world.leader, 'a', 1))
    await world.kill(world.node('n2'))
    await world.kill(world.node('n3'))
    await world.until(() => world.control.configuration.inSync.length === 1)

    const refused = await errorOf(() => write(world.node('n1'), 'a', 2))
    expect(refused).to.include({
      code: 'TOO_FEW_IN_SYNC',
      message:
        '1 replica of the shard is in sync, and 2 are needed to write safely; try again later',
    })
    expect(await world.when(read(world.node('n1'), 'a'))).to.equal(1)
  })

  it('keeps what a replica of one node wrote over a restart of its machine', async () => {
    await using world = await ReplicatedWorld.open({ count: 1, minInSync: 1 })
    await world.until(() => world.node('n1').isServing)
    for (let at = 0; at < 10; at++) await world.when(write(world.leader, `k${at}`, at))

    await world.kill(world.node('n1'))
    await world.restart(world.node('n1'))
    world.control.elect(world.node('n1').replica)
    await world.until(() => world.node('n1').isServing)

    for (let at = 0; at < 10; at++) {
      expect(await world.when(read(world.leader, `k${at}`))).to.equal(at)
    }
  })
})
