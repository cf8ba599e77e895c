import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { silentLog } from '../../../../lib/log.ts'
import { ClusterMap } from '../../../../node/cluster/cluster-map.ts'
import { shardConfigurations } from '../../../../node/cluster/shard-configurations.ts'
import type { ClusterChange } from '../../../../node/cluster/known-cluster.ts'
import {
  configurationKey,
  decodeConfiguration,
  encodeConfiguration,
  encodeMove,
  encodeNode,
  encodeRegistration,
  liveKey,
  moveKey,
  nodeKey,
} from '../../../../node/controller/core/records/cluster-codec.ts'
import type { NodeRegistration } from '../../../../node/controller/core/records/node-record.ts'
import type { Change } from '../../../../node/coordination/coordination.ts'
import { EmbeddedCoordination } from '../../../../node/coordination/embedded-coordination.ts'
import type {
  InSyncChange,
  ShardConfiguration,
} from '../../../../node/replication/core/configuration.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import { errorOf } from '../../../support/error-of.ts'
import { NodeStore } from '../../../support/worlds/node-store.ts'
import { passTime, passTimeUntil } from '../../../support/worlds/pass-time.ts'

const PATH = 't/s'
const N1 = { node: 'n1', incarnation: 1 }
const N2 = { node: 'n2', incarnation: 4 }

const FIRST: Omit<ShardConfiguration, 'revision'> = {
  epoch: 1,
  leader: N1,
  replicas: ['n1', 'n2'],
  inSync: [N1],
  eligible: [],
  minInSync: 1,
  operation: 'c/1',
}

const REGISTRATION: NodeRegistration = {
  id: 'n2',
  incarnation: 4,
  addresses: { peer: 'b:1', api: 'b:2' },
  version: '1',
  wholeSince: 1,
  isLeaving: false,
}

const putConfiguration = (more: Partial<ShardConfiguration> = {}, path = PATH): Change => ({
  type: 'put',
  key: configurationKey(path),
  value: encodeConfiguration({ ...FIRST, ...more }),
})

const putLive = (more: Partial<NodeRegistration> = {}): Change => ({
  type: 'put',
  key: liveKey('n2'),
  value: encodeRegistration({ ...REGISTRATION, ...more }),
})

describe('ClusterMap', () => {
  let clock: ManualClock
  let common: EmbeddedCoordination
  let store: NodeStore
  let map: ClusterMap
  let changes: ClusterChange[]
  beforeEach(async () => {
    clock = new ManualClock()
    common = new EmbeddedCoordination(new MemoryKvStore(), clock)
    store = new NodeStore(common)
    await put(putConfiguration(), putLive())
    map = await open()
    changes = []
    map.onChange((change) => changes.push(change))
  })
  afterEach(async () => {
    await map.close()
    await common.close()
  })

  const open = (): Promise<ClusterMap> =>
    ClusterMap.open({ coordination: store, clock, log: silentLog }, new AbortController().signal)

  async function put(...written: Change[]): Promise<number> {
    const outcome = await common.commit({ when: [], changes: written })
    return outcome.kind === 'committed' ? outcome.revision : 0
  }

  const heard = (count: number): Promise<void> =>
    passTimeUntil(clock, () => changes.length >= count)

  const adding = (more: Partial<InSyncChange> = {}): InSyncChange => ({
    operation: 'n1/1/1',
    epoch: 1,
    revision: map.configurationOf(PATH)?.revision ?? 0,
    kind: 'add',
    replica: N2,
    ...more,
  })

  it('knows what there was when it is open', async () => {
    expect(map.configurationOf(PATH)).to.deep.equal({ ...FIRST, revision: 1 })
    expect(map.configurationOf('t/other')).to.equal(undefined)
    expect(map.pathOf('s')).to.equal(PATH)
    expect(map.addressOf('n2')).to.deep.equal({ peer: 'b:1', api: 'b:2' })
    expect(map.health).to.deep.equal({ kind: 'current' })
    expect(map.leaderOf(PATH)).to.deep.equal({ replica: N1, epoch: 1, addresses: undefined })
  })

  it('hears of nodes, configurations and moves, and tells the listeners in order', async () => {
    const seen: (number | undefined)[] = []
    map.onConfiguration(PATH, (configuration) => seen.push(configuration?.epoch))
    const node = { id: 'n2', zone: 'z', state: 'draining', incarnation: 4, operation: 'o' } as const
    const move = { cause: 'drain', to: 'n3', from: 'n2', operation: 'c/2' } as const
    await put({ type: 'put', key: nodeKey('n2'), value: encodeNode(node) })
    await put(putConfiguration({ epoch: 2, leader: N2 }), putConfiguration({}, 't/more'))
    await put({ type: 'put', key: moveKey(PATH), value: encodeMove(move) })
    await put(
      { type: 'delete', key: configurationKey(PATH) },
      { type: 'delete', key: moveKey(PATH) },
    )
    await heard(6)

    expect(changes).to.deep.equal([
      { kind: 'node', id: 'n2' },
      { kind: 'configuration', path: PATH },
      { kind: 'configuration', path: 't/more' },
      { kind: 'move', path: PATH },
      { kind: 'configuration', path: PATH },
      { kind: 'move', path: PATH },
    ])
    expect(seen).to.deep.equal([2, undefined])
    expect(map.node('n2')).to.include({ zone: 'z', state: 'draining', liveRevision: 1 })
    expect(map.moveOf(PATH)).to.equal(undefined)
    expect(map.pathOf('s')).to.equal(undefined)
    expect([...map.shards().keys()]).to.deep.equal(['t/more'])
  })

  it('keeps the address of a node that is away, because it may still serve', async () => {
    await put(
      {
        type: 'put',
        key: nodeKey('n2'),
        value: encodeNode({ id: 'n2', zone: '', state: 'serving', incarnation: 4, operation: 'o' }),
      },
      { type: 'delete', key: liveKey('n2') },
    )
    await heard(2)

    expect(map.node('n2')).to.include({ registration: undefined, liveRevision: 0 })
    expect(map.addressOf('n2')).to.deep.equal({ peer: 'b:1', api: 'b:2' })
  })

  it('lists again when events are missing, and notices what went meanwhile', async () => {
    store.holdWatches()
    await put(putConfiguration({ epoch: 3 }, 't/more'))
    await put({ type: 'delete', key: configurationKey(PATH) })
    for (let count = 0; count < 1100; count++) await put(putLive({ version: `${count}` }))
    store.releaseWatches()
    await passTimeUntil(clock, () => map.node('n2')?.registration?.version === '1099')

    expect(map.configurationOf(PATH)).to.equal(undefined)
    expect(map.configurationOf('t/more')?.epoch).to.equal(3)
  })

  it('continues with what it knows while the store is away, and says since when', async () => {
    const since = clock.nowMs()
    store.cut(new ServiceError('UNAVAILABLE', 'nobody answers'))
    await passTimeUntil(clock, () => map.health.kind === 'stale')
    await passTime(clock, 60_000)

    expect(map.health).to.include({ kind: 'stale', reason: 'nobody answers' })
    expect(map.health.kind === 'stale' && map.health.sinceMs - since).to.be.within(0, 10_000)
    expect(map.configurationOf(PATH)?.epoch).to.equal(1)
    expect(await errorOf(() => map.confirm(PATH))).to.include({ code: 'UNAVAILABLE' })

    await put(putConfiguration({ epoch: 5 }))
    store.heal()
    await passTimeUntil(clock, () => map.configurationOf(PATH)?.epoch === 5)
    expect(map.health).to.deep.equal({ kind: 'current' })
  })

  it('confirms by a read of the store, ahead of its watch', async () => {
    store.holdWatches()
    await put(putConfiguration({ epoch: 2 }))

    expect((await map.confirm(PATH))?.epoch).to.equal(2)
    expect(map.configurationOf(PATH)?.epoch).to.equal(2)
    expect(await map.confirm('t/none')).to.equal(undefined)
  })

  it('never goes back to an older configuration', async () => {
    store.holdWatches()
    await put(putConfiguration({ epoch: 2 }))
    await put(putConfiguration({ epoch: 3 }))
    await map.confirm(PATH)
    const seen: (number | undefined)[] = []
    map.onConfiguration(PATH, (configuration) => seen.push(configuration?.epoch))
    store.releaseWatches()
    await put(putConfiguration({ epoch: 4 }))
    await passTimeUntil(clock, () => map.configurationOf(PATH)?.epoch === 4)

    expect(seen).to.deep.equal([4])
  })

  it('does not bring back a shard that was deleted while a read was under way', async () => {
    const slow = Promise.withResolvers<void>()
    store.get = async (key) => {
      const entry = await common.get(key)
      if (key === configurationKey(PATH)) await slow.promise
      return entry
    }
    const confirming = map.confirm(PATH)
    await put({ type: 'delete', key: configurationKey(PATH) })
    await heard(1)
    slow.resolve()
    await confirming

    expect(map.configurationOf(PATH)).to.equal(undefined)
  })

  it('keeps what it knew of an entry that is damaged', async () => {
    await put({ type: 'put', key: configurationKey(PATH), value: Buffer.from('{') })
    await put(putConfiguration({}, 't/more'))
    await heard(1)

    expect(map.configurationOf(PATH)?.epoch).to.equal(1)
    expect(map.health.kind).to.equal('current')
  })

  it('rejects when it is given up before the store answers', async () => {
    store.cut()
    const giveUp = new AbortController()
    const opening = ClusterMap.open({ coordination: store, clock, log: silentLog }, giveUp.signal)
    giveUp.abort(new ServiceError('DEADLINE_EXCEEDED', 'too late'))

    expect(await errorOf(() => opening)).to.include({ code: 'DEADLINE_EXCEEDED' })
  })

  it('stands for its shards where a host of replicas asks', async () => {
    const configurations = shardConfigurations(map)
    const shard = { tableId: 't', id: 's' }
    const seen: number[] = []
    configurations.onConfiguration(shard, ({ revision }) => seen.push(revision))
    const control = configurations.controlOf(shard)

    expect(configurations.configurationOf(shard)).to.include({ epoch: 1, revision: 1 })
    expect(await control.confirm()).to.include({ epoch: 1, revision: 1 })
    expect((await control.change(adding())).inSync).to.deep.equal([N1, N2])
    await put({ type: 'delete', key: configurationKey(PATH) })
    await heard(2)
    expect(seen).to.deep.equal([2])
    expect(await errorOf(() => control.confirm())).to.include({ code: 'NOT_FOUND' })
    expect(await errorOf(() => control.change(adding()))).to.include({ code: 'NOT_FOUND' })
  })

  describe('changes of an in-sync set', () => {
    it('are committed on the revision that they replace, and answer what the store has', async () => {
      const change = adding()
      const after = await map.changeInSync(PATH, change)

      expect(after).to.include({ revision: 2, operation: change.operation })
      expect(after?.inSync).to.deep.equal([N1, N2])
      const stored = await common.get(configurationKey(PATH))
      expect(decodeConfiguration(stored!.value, stored!.modRevision)).to.deep.equal(after)
      expect(map.configurationOf(PATH)).to.deep.equal(after)
    })

    it('happen once, also when the answer is lost and they are asked for again', async () => {
      const change = adding()
      store.lostAnswers = 1
      expect(await errorOf(() => map.changeInSync(PATH, change))).to.include({
        code: 'UNAVAILABLE',
      })

      const after = await map.changeInSync(PATH, change)
      const again = await map.changeInSync(PATH, change)

      expect(after).to.include({ revision: 2, operation: change.operation })
      expect(again).to.deep.equal(after)
      expect(store.commits).to.have.length(1)
    })

    it('answer the configuration that was quicker', async () => {
      const change = adding()
      store.holdWatches()
      await put(putConfiguration({ epoch: 2, leader: N2, inSync: [N1, N2], operation: 'c/9' }))

      const after = await map.changeInSync(PATH, change)

      expect(after).to.include({ epoch: 2, operation: 'c/9', revision: 2 })
      expect(map.configurationOf(PATH)?.epoch).to.equal(2)
    })

    it('answer nothing for a shard that was deleted', async () => {
      const change = adding()
      store.holdWatches()
      await put({ type: 'delete', key: configurationKey(PATH) })

      expect(await map.changeInSync(PATH, change)).to.equal(undefined)
    })

    const unfit: Record<string, () => Promise<InSyncChange>> = {
      'a life that its node does not live': async () =>
        adding({ replica: { node: 'n2', incarnation: 3 } }),
      'a node that is not registered': async () =>
        adding({ replica: { node: 'n3', incarnation: 1 } }),
      'a node that is about to stop': async () => {
        await put(putLive({ isLeaving: true }))
        await heard(1)
        return adding()
      },
      'a life that has lost data': async () => {
        await put(putLive({ wholeSince: 5 }))
        await heard(1)
        return adding()
      },
      'a change of another epoch': async () => adding({ epoch: 2 }),
      'a change of an earlier revision': async () => {
        await put(putConfiguration({ operation: 'c/2' }))
        await heard(1)
        return adding({ revision: 1 })
      },
    }
    for (const [what, order] of Object.entries(unfit)) {
      it(`do not add for ${what}`, async () => {
        const after = await map.changeInSync(PATH, await order())

        expect(after?.inSync).to.deep.equal([N1])
        expect(store.commits).to.deep.equal([])
      })
    }

    it('do not add a life that ended a moment ago', async () => {
      store.holdWatches()
      await put(putLive({ incarnation: 5 }))

      const after = await map.changeInSync(PATH, adding())

      expect(after?.inSync).to.deep.equal([N1])
    })

    it('remove a replica whose node is away', async () => {
      await put(putConfiguration({ inSync: [N1, N2] }), { type: 'delete', key: liveKey('n2') })
      await heard(2)

      const after = await map.changeInSync(PATH, adding({ kind: 'remove' }))

      expect(after?.inSync).to.deep.equal([N1])
    })

    it('are frozen when the store went back', async () => {
      const lost = new ServiceError('CORRUPTION', 'etcd went back from revision 9 to 3')
      store.cut(lost)
      await passTimeUntil(clock, () => map.health.kind === 'frozen')
      store.heal()
      await passTime(clock, 10_000)

      const error = await errorOf(() => map.changeInSync(PATH, adding()))

      expect(map.health).to.deep.equal({ kind: 'frozen', reason: lost.message })
      expect(error).to.include({ code: 'UNAVAILABLE' })
      expect(error).to.have.property('message').that.contains('went back')
      expect(store.commits).to.deep.equal([])
    })

    it('are frozen when a listing is older than what was seen', async () => {
      await put(putLive({ version: '2' }))
      await heard(1)
      store.list = async (prefix) => ({ ...(await common.list(prefix)), revision: 1 })
      store.holdWatches()
      for (let count = 0; count < 1100; count++) await put(putLive({ version: `${count}` }))
      store.releaseWatches()
      await passTimeUntil(clock, () => map.health.kind === 'frozen')

      expect(await errorOf(() => map.changeInSync(PATH, adding()))).to.include({
        code: 'UNAVAILABLE',
      })
    })
  })
})
