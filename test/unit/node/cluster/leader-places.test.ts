import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { silentLog } from '../../../../lib/log.ts'
import { ClusterMap } from '../../../../node/cluster/cluster-map.ts'
import { LeaderPlaces } from '../../../../node/cluster/leader-places.ts'
import { peerAddress } from '../../../../node/cluster/peer-address.ts'
import {
  configurationKey,
  encodeConfiguration,
  encodeRegistration,
  liveKey,
} from '../../../../node/controller/core/records/cluster-codec.ts'
import type { Change } from '../../../../node/coordination/coordination.ts'
import { EmbeddedCoordination } from '../../../../node/coordination/embedded-coordination.ts'
import { MemoryNetwork } from '../../../../node/peer/channels/memory-network.ts'
import type { PeerNode } from '../../../../node/peer/peer.ts'
import type { ShardPlaces } from '../../../../node/shard/remote/shard-places.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import { passTimeUntil } from '../../../support/worlds/pass-time.ts'
import { openTestPeer } from '../../../support/worlds/test-peer.ts'

const live = (id: string, peer = `${id}:1`): Change => ({
  type: 'put',
  key: liveKey(id),
  value: encodeRegistration({
    id,
    incarnation: 1,
    addresses: { peer, api: '' },
    version: '',
    wholeSince: 1,
    isLeaving: false,
  }),
})

const led = (node: string | undefined, epoch: number): Change => ({
  type: 'put',
  key: configurationKey('t/s'),
  value: encodeConfiguration({
    epoch,
    leader: node === undefined ? undefined : { node, incarnation: 1 },
    replicas: ['n1', 'n2'],
    inSync: [{ node: 'n1', incarnation: 1 }],
    eligible: [],
    minInSync: 1,
    operation: 'o',
  }),
})

describe('LeaderPlaces', () => {
  let clock: ManualClock
  let store: EmbeddedCoordination
  let map: ClusterMap
  let peers: PeerNode
  let places: LeaderPlaces
  beforeEach(async () => {
    clock = new ManualClock()
    store = new EmbeddedCoordination(new MemoryKvStore(), clock)
    await put(live('n1'), live('n2'), led('n1', 3))
    const never = new AbortController().signal
    map = await ClusterMap.open({ coordination: store, clock, log: silentLog }, never)
    peers = await openTestPeer('n9', { clock, network: new MemoryNetwork(clock) })
    places = new LeaderPlaces(map, peers) satisfies ShardPlaces
  })
  afterEach(async () => {
    await map.close()
    await store.close()
    await peers.close()
  })

  const put = (...changes: Change[]): Promise<unknown> => store.commit({ when: [], changes })
  const knows = (epoch: number): Promise<void> =>
    passTimeUntil(clock, () => map.configurationOf('t/s')?.epoch === epoch)

  async function place(): Promise<string> {
    const found = await places.leaderOf('s')
    if (found === undefined) return 'nobody'
    const { host, port } = found.link.peer
    return `${found.node} in ${found.epoch} at ${host}:${port}`
  }

  it('names the leader of the map, and where it is', async () => {
    expect(await place()).to.equal('n1 in 3 at n1:1')
    expect(await places.leaderOf('none')).to.equal(undefined)
    expect(places.linkTo('n2')?.peer).to.include({ nodeId: 'n2', host: 'n2' })
    expect(places.linkTo('n7')).to.equal(undefined)

    await put(live('n1', 'other:7'), led('n1', 4))
    await knows(4)
    expect(await place()).to.equal('n1 in 4 at other:7')
  })

  it('follows a hint of a later epoch until the map knows that epoch', async () => {
    places.hint('s', 'n2', 5)
    expect(await place()).to.equal('n2 in 5 at n2:1')
    places.hint('s', 'n1', 4)
    expect(await place()).to.equal('n2 in 5 at n2:1')

    await put(led('n1', 6))
    await knows(6)
    expect(await place()).to.equal('n1 in 6 at n1:1')
  })

  it('learns nothing from a node that knows less', async () => {
    places.hint('s', 'n2', 3)
    places.hint('s', 'n2', 2)
    places.hint('s', undefined, 9)

    expect(await place()).to.equal('n1 in 3 at n1:1')
  })

  it('names nobody while nobody leads, and nobody without an address', async () => {
    places.hint('s', 'n7', 4)
    expect(await place()).to.equal('nobody')

    await put(led(undefined, 5))
    await knows(5)
    expect(await place()).to.equal('nobody')
  })

  it('forgets the oldest of too many hints', async () => {
    places.hint('s', 'n2', 5)
    for (let count = 0; count < 1024; count++) places.hint(`other-${count}`, 'n2', 1)

    expect(await place()).to.equal('n1 in 3 at n1:1')
  })
})

describe('peerAddress', () => {
  it('reads the host and port of a registration', () => {
    const read = peerAddress('n', 'a.example:7000')

    expect(read).to.deep.equal({ nodeId: 'n', host: 'a.example', port: 7000 })
    expect(peerAddress('n', '[::1]:7000')).to.include({ host: '::1', port: 7000 })
    for (const text of ['', 'a', 'a:', ':1', 'a:0', 'a:65536', '::1:7000', 'http://a:1']) {
      expect(peerAddress('n', text), text).to.equal(undefined)
    }
  })
})
