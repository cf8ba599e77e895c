import { expect } from 'chai'
import { must } from '../../../../lib/assert.ts'
import { NO_SETTINGS } from '../../../../node/shard/command/table-settings.ts'
import { errorOf } from '../../../support/error-of.ts'
import { ReplicatedWorld, SHARD, type TestNode } from '../../../support/worlds/replicated-world.ts'
import { putOp } from '../../../support/worlds/shard-world.ts'

const isLed = ({ led }: TestNode): boolean => led.find({ id: SHARD }) !== undefined

function write(node: TestNode, name: string) {
  return node.shard.write({ checks: [], ops: [putOp(name, 1)], ttl: undefined })
}

describe('the host of replicas', () => {
  it('has a shard among those that it leads exactly while it serves it', async () => {
    await using world = await ReplicatedWorld.open()
    const [n1, n2] = [world.node('n1'), world.node('n2')]
    expect(isLed(n1)).to.equal(false)
    await world.until(() => isLed(n1))
    expect(isLed(n2)).to.equal(false)

    world.control.elect(n2.replica)

    await world.until(() => isLed(n2))
    expect(isLed(n1)).to.equal(false)
    await world.kill(n2)
    expect(isLed(n2)).to.equal(false)
  })

  it('opens a replica with what its disk has, and names those that nobody has opened', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    await world.when(write(world.leader, 'a'))
    const n3 = world.node('n3')
    await world.until(() => n3.shard.appliedSequence === world.leader.shard.committedSequence)
    const applied = n3.shard.appliedSequence
    await world.kill(n3)

    await world.restart(n3)

    expect(n3.running?.host.unopened).to.deep.equal([])
    expect(n3.shard.replicated?.log.last.sequence).to.be.at.least(applied)
  })

  it('keeps a replica that a full disk does not let open, and opens it later', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    for (const name of ['a', 'b', 'c']) await world.when(write(world.leader, name))
    const n3 = world.node('n3')
    await world.kill(n3)
    n3.disk.failWrites('DISK_FULL')
    const record = { id: SHARD, range: { start: Buffer.alloc(0), end: undefined } }
    world.onHost = async (host) => {
      const refused = await errorOf(() => host.start(record, { ...NO_SETTINGS, tableId: 't' }))
      expect(refused).to.include({ code: 'DISK_FULL' })
      expect(host.has(SHARD)).to.equal(true)
      n3.disk.failWrites(undefined)
    }

    await world.restart(n3)

    expect(n3.shard.replicated?.log.last.sequence).to.be.at.least(3)
  })

  it('removes a replica with its store and its log', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    await world.when(write(world.leader, 'a'))
    const n3 = world.node('n3')

    await n3.running?.host.remove(SHARD)

    expect(await n3.disk.list()).to.deep.equal([])
    expect(n3.running?.host.find(SHARD)).to.equal(undefined)
    expect(n3.running?.journal.stateOf(SHARD)).to.deep.equal({ promised: 0, committed: 0 })
  })

  it('ignores messages for shards that it does not have, and refuses other bytes', async () => {
    await using world = await ReplicatedWorld.open()
    const host = world.node('n1').running?.host
    const stranger = Buffer.alloc(26)
    stranger[0] = 1
    stranger[1] = 4
    stranger[9] = 0xff

    await host?.receive('n2', stranger)

    const error = await errorOf(() => host?.receive('n2', Buffer.from('noise')))
    expect(error).to.include({ code: 'INVALID_ARGUMENT' })
  })

  it('does not serve a replica whose journal has lost committed entries', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    await world.when(write(world.leader, 'a'))
    const n3 = world.node('n3')
    await world.until(() => n3.shard.appliedSequence === world.leader.shard.committedSequence)
    await n3.shard.store.flush()
    await world.kill(n3)
    for (const name of await n3.disk.directory.list()) await n3.disk.directory.remove(name)

    expect(await errorOf(() => world.restart(n3))).to.include({ code: 'CORRUPTION' })
  })

  it('trusts a replica that was built anew, although its journal remembers the one before', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    for (const name of ['a', 'b', 'c']) await world.when(write(world.leader, name))
    const n3 = world.node('n3')
    await world.until(() => n3.shard.appliedSequence === world.leader.shard.committedSequence)
    await world.step()
    world.isLost = (_from, to) => to === 'n3' // it does not catch up before it restarts
    const host = must(n3.running, 'n3').host
    const range = { start: Buffer.alloc(0), end: undefined }
    const settings = { ...NO_SETTINGS, tableId: 't' }
    await world.when(host.startAnew({ id: SHARD, range }, settings))
    await world.kill(n3)

    await world.restart(n3)

    expect([...must(n3.running, 'n3').host.damaged.keys()]).to.deep.equal([])
    world.isLost = () => false
    await world.until(() => n3.shard.appliedSequence === world.leader.shard.committedSequence)
  })
})
