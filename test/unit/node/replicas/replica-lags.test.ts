import { expect } from 'chai'
import { LoopbackLink } from '../../../../node/replicas/loopback-link.ts'
import { ReplicaLags, worstLag } from '../../../../node/replicas/replica-lags.ts'
import type { PeerHandlers } from '../../../../node/peer/peer.ts'
import { errorOf } from '../../../support/error-of.ts'
import { ReplicatedWorld, SHARD } from '../../../support/worlds/replicated-world.ts'
import { putOp } from '../../../support/worlds/shard-world.ts'

/** The lags as every node of the world tells and asks them. */
function lagsOf(world: ReplicatedWorld): (node: string) => ReplicaLags {
  const all = new Map<string, ReplicaLags>()
  const handlersOf = (node: string): PeerHandlers => all.get(node)?.handlers() ?? new Map()
  for (const { id: self } of world.nodes) {
    const lags = new ReplicaLags({
      self,
      leading: () => world.node(self).running?.host.leading() ?? [],
      leaders: () => ['n1'],
      linkTo: (to) => new LoopbackLink(self, handlersOf(to), world.clock),
      clock: world.clock,
    })
    all.set(self, lags)
  }
  return (node) => all.get(node)!
}

async function write(world: ReplicatedWorld, at: number): Promise<void> {
  const ops = [putOp(`k${at}`, at)]
  await world.when(world.leader.shard.write({ checks: [], ops, ttl: undefined }))
}

describe('the lag of replicas', () => {
  it('is told by the leader to any node: none while all keep up', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    await write(world, 1)
    await world.step()
    const lags = lagsOf(world)

    const asked = await world.when(lags('n3').askAll())

    const none = { entries: 0, ms: 0 }
    expect([...(asked.get(SHARD) ?? [])]).to.deep.equal([
      ['n2', none],
      ['n3', none],
    ])
    expect(lags('n1').entriesMax).to.equal(0)
  })

  it('counts what a follower that is cut off lacks, and since when', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    await write(world, 0)
    world.isLost = (_from, to) => to === 'n3'
    await world.until(() => world.control.configuration.inSync.length === 2)
    for (let at = 1; at <= 5; at++) await write(world, at)
    const lags = lagsOf(world)

    const asked = await world.when(lags('n2').ask(new Map([['n1', [SHARD]]])))

    const lag = asked.get(SHARD)?.get('n3')
    expect(lag?.entries).to.equal(5)
    expect(lag?.ms).to.be.within(3000, 10_000)
    expect(worstLag(asked.get(SHARD)!)).to.equal(lag)
    expect(lags('n1').entriesMax).to.equal(5)
    expect(lags('n2').entriesMax).to.equal(0)
  })

  it('is left out where the leader is not reached, and of shards that are not asked for', async () => {
    await using world = await ReplicatedWorld.open()
    await world.until(() => world.node('n1').isServing)
    const lags = lagsOf(world)
    const unknown = new Map([['n9', undefined]])
    const other = new Map([['n1', ['00000000000000ff']]])

    expect([...(await world.when(lags('n2').ask(unknown)))]).to.deep.equal([])
    expect([...(await world.when(lags('n2').ask(other)))]).to.deep.equal([])
  })

  it('is not told for a question that is malformed', async () => {
    await using world = await ReplicatedWorld.open()
    const handler = lagsOf(world)('n1').handlers().get(98)
    for (const body of ['', '[]', '{"shards":[1]}', '{"shards":"a"}']) {
      const asked = { body: Buffer.from(body), from: 'n2', version: 1 }
      const signal = AbortSignal.timeout(1000)
      const error = await errorOf(async () => {
        if (handler?.kind !== 'call') throw new Error('it is a call')
        return handler.handle({ ...asked, signal, remainingMs: () => undefined })
      })
      expect(error, body).to.include({ code: 'INVALID_ARGUMENT' })
    }
  })
})
