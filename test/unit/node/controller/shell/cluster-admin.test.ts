import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { reportCluster } from '../../../../../node/controller/core/cluster-report.ts'
import { ClusterAdmin } from '../../../../../node/controller/shell/cluster-admin.ts'
import {
  controllerHandlers,
  controllerPeers,
} from '../../../../../node/controller/shell/controller-calls.ts'
import type { ClusterControl } from '../../../../../node/steering/cluster-control.ts'
import { EmbeddedCoordination } from '../../../../../node/coordination/embedded-coordination.ts'
import { MemoryNetwork } from '../../../../../node/peer/channels/memory-network.ts'
import type { PeerNode } from '../../../../../node/peer/peer.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { NodeStore } from '../../../../support/worlds/node-store.ts'
import { passTime, passTimeUntil } from '../../../../support/worlds/pass-time.ts'
import { openTestPeer } from '../../../../support/worlds/test-peer.ts'
import { createTable, StubNode } from '../../../../support/worlds/stub-node.ts'

interface Member {
  readonly node: StubNode
  readonly store: NodeStore
  readonly peer: PeerNode
  readonly admin: ClusterAdmin
}

// Three nodes with four shards, and the peer protocol between them in virtual time.
describe('ClusterAdmin', () => {
  let root = ''
  let clock: ManualClock
  let common: EmbeddedCoordination
  let network: MemoryNetwork
  let members: Member[]
  const faults: unknown[] = []

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-admin-'))
    clock = new ManualClock()
    common = new EmbeddedCoordination(new MemoryKvStore(), clock)
    network = new MemoryNetwork(clock)
    members = []
    for (const id of ['n1', 'n2', 'n3', 'n4']) members.push(await start(id))
    await createTable(common, 't', 4)
    await passTimeUntil(clock, isPlaced)
  })
  afterEach(async () => {
    for (const { node, peer, store } of members) {
      store.heal()
      await during(node.stop())
      await during(peer.close())
    }
    await common.close()
    await rm(root, { recursive: true, force: true })
    expect(faults.splice(0)).to.deep.equal([])
  })

  async function during<Answer>(work: Promise<Answer>): Promise<Answer> {
    let isDone = false
    const settled = work.finally(() => (isDone = true))
    settled.catch(() => undefined) // the caller gets the error
    await passTimeUntil(clock, () => isDone)
    return settled
  }

  async function start(id: string): Promise<Member> {
    const store = new NodeStore(common)
    const node = await during(
      StubNode.start({ id, coordination: store, clock, root, ttlSeconds: 5 }),
    )
    const peer = await openTestPeer(id, {
      clock,
      network,
      handlers: controllerHandlers(node.controller),
      onFault: (error) => faults.push(error),
    })
    const admin = new ClusterAdmin({
      name: 'library',
      node: id,
      coordination: store,
      map: node.map,
      controller: node.controller,
      peers: controllerPeers(peer, (other) => node.map.addressOf(other)),
      clock,
      newOperation: () => `operator/${clock.nowMs()}`,
    }) satisfies ClusterControl
    return { node, store, peer, admin }
  }

  const elected = (): Member =>
    members.find(({ node }) => node.controller.elected?.isReady === true) ?? members[0]!

  const other = (): Member => members.find((member) => member !== elected())!

  function isPlaced(): boolean {
    const all = [...members[0]!.node.map.shards().values()]
    return all.length === 4 && all.every(({ inSync }) => inSync.length === 3)
  }

  it('shows the same cluster on every node', async () => {
    const reports = []
    for (const { admin } of members) reports.push(await during(admin.report()))

    const [first] = reports
    expect(first?.shards).to.equal(4)
    expect(first?.nodes.map(({ id }) => id)).to.have.members(['n1', 'n2', 'n3', 'n4'])
    for (const report of reports) {
      expect(report.nodes.map(({ leaders }) => leaders)).to.deep.equal(
        first?.nodes.map(({ leaders }) => leaders),
      )
    }
    expect(members.map(({ admin }) => admin.controller())).to.deep.equal(
      members.map(() => elected().node.id),
    )
    expect(members.map(({ admin }) => admin.problem())).to.deep.equal(members.map(() => undefined))
  })

  it('tells of the disk of each node, whichever is asked, for as long as the nodes tell', async () => {
    const tellers = members.map(({ admin, node }) =>
      admin.keepTellingDisk(() => ({ totalBytes: 1000, freeBytes: Number(node.id.slice(1)) })),
    )
    // The first message opens the connection and is lost.
    await passTime(clock, 21_000)

    const disks = new Map<string, unknown>()
    for (const { admin, node } of members) {
      disks.set(
        node.id,
        (await during(admin.report())).nodes.map(({ disk }) => disk),
      )
    }
    const stopped = Promise.all(tellers.map((stop) => stop()))
    await passTime(clock, 62_000)
    await stopped

    const told = [1, 2, 3, 4].map((freeBytes) => ({ totalBytes: 1000, freeBytes }))
    for (const shown of disks.values()) expect(shown).to.deep.equal(told)
    const { nodes } = await during(members[0]!.admin.report())
    expect(nodes.map(({ disk }) => disk)).to.deep.equal(told.map(() => undefined))
    expect(nodes.map(({ registeredAtMs }) => typeof registeredAtMs)).to.deep.equal(
      told.map(() => 'number'),
    )
  })

  it('lists shards by pages on every node', async () => {
    const query = { tableId: 't', trouble: undefined, after: undefined, limit: 3 }
    for (const { admin } of members) {
      const first = await during(admin.listShards(query))
      const rest = await during(admin.listShards({ ...query, after: first.at(-1)?.path }))

      const paths = [...first, ...rest].map((shard) => shard.path)
      expect(paths).to.deep.equal(['t/s0', 't/s1', 't/s2', 't/s3'])
      expect(first[0]).to.include({ replicationFactor: 3, minInSync: 2, epoch: 1 })
    }
    expect(await during(other().admin.listShards({ ...query, trouble: 'any' }))).to.deep.equal([])
  })

  it('drains a node from any node, and takes it back', async () => {
    const { admin } = other()
    const victim = members.find(({ node }) => node.load.holds > 0)!.node

    expect(await during(admin.requestOfNode({ kind: 'drain', node: victim.id }))).to.equal(
      undefined,
    )
    expect(await during(admin.requestOfNode({ kind: 'drain', node: victim.id }))).to.equal(
      undefined,
    )
    await passTimeUntil(clock, () => victim.load.holds === 0)
    const shown = during(
      admin.requestOfNode({ kind: 'undrain', node: victim.id }).then(() => admin.report()),
    )

    expect((await shown).nodes.find(({ id }) => id === victim.id)).to.include({
      state: 'serving',
      condition: 'serving',
    })
    await passTimeUntil(clock, () => members[0]!.node.map.node(victim.id)?.state === 'serving')
  })

  it('says why a wish for a node is refused', async () => {
    const { admin } = other()

    expect(await admin.requestOfNode({ kind: 'drain', node: 'n9' })).to.deep.equal({
      refused: 'no node n9 has joined the cluster',
    })
    const gone = during(admin.requestOfNode({ kind: 'decommission', node: 'n4' }))
    expect(await gone).to.equal(undefined)
    expect(await admin.requestOfNode({ kind: 'undrain', node: 'n4' })).to.have.property('refused')
  })

  it('moves a replica and transfers a leadership from any node', async () => {
    const { admin, node } = other()
    const [at, before] = [...node.map.shards()][0]!
    const to = members.find(({ node: { id } }) => !before.replicas.includes(id))!.node.id
    const from = before.replicas.find((id) => id !== before.leader?.node)!

    expect(await during(admin.requestMove({ path: at, from, to }))).to.equal(undefined)
    await passTimeUntil(clock, () => {
      const now = node.map.configurationOf(at)
      return now?.replicas.includes(to) === true && !now.replicas.includes(from)
    })
    await passTimeUntil(clock, () => node.map.moveOf(at) === undefined)
    expect(await during(admin.requestTransfer({ path: at, to }))).to.equal(undefined)
    await passTimeUntil(clock, () => node.map.configurationOf(at)?.leader?.node === to)
  })

  it('passes on why the controller refuses', async () => {
    const { admin, node } = other()
    const [at, { leader }] = [...node.map.shards()][0]!

    expect(await during(admin.requestTransfer({ path: at, to: leader!.node }))).to.deep.equal({
      refused: `${leader!.node} leads it already`,
    })
    expect(await during(admin.requestTransfer({ path: 't/none', to: 'n1' }))).to.deep.equal({
      refused: 'there is no shard t/none',
    })
  })

  it('waits for the next controller when the present one is lost', async () => {
    const lost = elected()
    const { admin } = other()
    lost.store.cut()
    await lost.store.expire()

    const report = await during(admin.report())

    expect(report.shards).to.equal(4)
    expect(admin.controller()).to.not.equal(lost.node.id)
  })

  it('says that nobody is elected, and for how long it has asked', async () => {
    for (const { store } of members) store.cut()
    for (const { store } of members) await store.expire()
    for (const { store } of members) store.releaseWatches()
    await passTime(clock, 20_000)
    const { admin } = other()

    const error = await during(errorOf(() => admin.report()))

    expect(error).to.include({ code: 'UNAVAILABLE' })
    expect(admin.problem()).to.contain('has not answered since')
    expect(await errorOf(() => admin.requestOfNode({ kind: 'drain', node: 'n1' }))).to.include({
      code: 'UNAVAILABLE',
    })
  })

  it('tells the controller how large shards are', async () => {
    const { admin } = other()
    const [at, before] = [...other().node.map.shards()][0]!
    const stop = admin.keepTellingSizes(async () => [{ path: at, bytes: 4242 }])
    await passTime(clock, 61_000) // the first message connects an idle lane
    const to = members.find(({ node: { id } }) => !before.replicas.includes(id))!.node.id
    const from = before.replicas.find((id) => id !== before.leader?.node)!
    await during(admin.requestMove({ path: at, from, to }))

    const report = elected().node.controller.elected!.show(reportCluster)

    expect(report.moves.find((move) => move.path === at)?.bytes).to.equal(4242)
    await during(stop())
  })
})
