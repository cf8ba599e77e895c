import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import {
  CONFIGURATION_PREFIX,
  decodeConfiguration,
  decodeNode,
  encodeNode,
  nodeKey,
} from '../../node/controller/core/records/cluster-codec.ts'
import type { Coordination } from '../../node/coordination/coordination.ts'
import { openEtcdCoordination } from '../../node/coordination/etcd/open-etcd-coordination.ts'
import { errorOf } from '../support/error-of.ts'
import { EtcdCluster } from '../support/processes/etcd-cluster.ts'
import { FaultProxy } from '../support/servers/fault-proxy.ts'
import { until } from '../support/until.ts'
import { createTable, StubNode } from '../support/worlds/stub-node.ts'

const TTL_SECONDS = 3
const TIMING = { attemptTimeoutMs: 700, callTimeoutMs: 3000, watchIdleMs: 500 }
const SHARDS = 9

/** A node with a way to etcd of its own, which the test can disturb. */
interface Member {
  readonly node: StubNode
  readonly proxy: FaultProxy
}

// Three nodes without shards, in one process, over a real etcd that is killed.
describe('a cluster over etcd', () => {
  let etcd: EtcdCluster
  let root = ''
  let clusters = 0
  let cluster = ''
  let observer: Coordination
  let members: Member[]
  before(async () => {
    etcd = await EtcdCluster.start({ members: 1 })
  })
  after(() => etcd[Symbol.asyncDispose]())
  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-cluster-'))
    cluster = `cluster-${(clusters += 1)}`
    observer = await open('observer', etcd.endpoints)
    members = []
    for (const id of ['n1', 'n2', 'n3']) await start(id)
    await createTable(observer, 't', SHARDS)
    await until(async () => isSettled(members))
  })
  afterEach(async () => {
    for (const { proxy } of members) proxy.heal()
    await Promise.all(members.map(({ node }) => node.stop()))
    for (const { node, proxy } of members) {
      await node.coordination.close()
      await proxy[Symbol.asyncDispose]()
    }
    await observer.close()
    await rm(root, { recursive: true, force: true })
  })

  const open = (owner: string, endpoints: readonly string[]): Promise<Coordination> =>
    openEtcdCoordination({
      endpoints,
      cluster,
      owner,
      clock: systemClock,
      random: () => 0,
      timing: TIMING,
    })

  async function start(id: string): Promise<Member> {
    const proxy = await FaultProxy.open(etcd.members[0]!.clientPort)
    const coordination = await open(id, [`http://127.0.0.1:${proxy.port}`])
    const ttlSeconds = TTL_SECONDS
    const node = await StubNode.start({ id, coordination, clock: systemClock, root, ttlSeconds })
    const member = { node, proxy }
    members.push(member)
    return member
  }

  const elected = (among: readonly Member[] = members): Member | undefined =>
    among.find(({ node }) => node.controller.elected?.isReady === true)

  /** Each of them sees every shard led by a life of one of them. */
  function isSettled(among: readonly Member[], shards = SHARDS): boolean {
    const lives = new Map(among.map(({ node }) => [node.id, node.membership.incarnation]))
    return among.every(({ node }) => {
      const all = [...node.map.shards().values()]
      return (
        all.length === shards &&
        all.every(
          ({ leader }) => leader !== undefined && lives.get(leader.node) === leader.incarnation,
        )
      )
    })
  }

  /** The controllers of all changes of configurations, in the order in which they took effect. */
  function recordChanges(): { readonly tokens: number[]; stop(): Promise<void> } {
    const tokens: number[] = []
    const over = new AbortController()
    const watching = (async () => {
      for await (const event of observer.watch(CONFIGURATION_PREFIX, 1, over.signal)) {
        if (event.kind !== 'put') continue
        const { operation } = decodeConfiguration(event.entry.value, event.entry.modRevision)
        const [, token, ...rest] = operation.split('/')
        if (rest.length === 1) tokens.push(Number(token)) // a leader's change has a longer name
      }
    })()
    return {
      tokens,
      stop: () => {
        over.abort()
        return watching
      },
    }
  }

  it('places shards, and names other leaders when a lease ends', async () => {
    expect(members.map(({ node }) => node.load)).to.deep.equal(
      members.map(() => ({ leads: 3, holds: SHARDS })),
    )
    const victim = members.find((member) => member !== elected())!
    const survivors = members.filter((member) => member !== victim)

    victim.proxy.blackHole()
    await until(async () => isSettled(survivors))

    expect(survivors.reduce((sum, { node }) => sum + node.load.leads, 0)).to.equal(SHARDS)
    await until(async () => victim.node.membership.state === 'away')
    victim.proxy.heal()
    await until(async () => victim.node.membership.state === 'registered')
    expect(victim.node.membership.incarnation).to.equal(1)
  })

  it('has another controller when the first is cut off, and never two that change something', async () => {
    const changes = recordChanges()
    const first = elected()!
    const rest = members.filter((member) => member !== first)
    first.proxy.set({ toClient: 'drop' }) // its commits arrive, and it hears nothing
    await createTable(observer, 'u', SHARDS)
    await until(async () => elected(rest) !== undefined)
    await until(async () => isSettled(rest, 2 * SHARDS))
    first.proxy.heal()
    await createTable(observer, 'v', SHARDS)
    await until(async () => isSettled(members, 3 * SHARDS))
    await changes.stop()

    const { tokens } = changes
    expect(tokens.length).to.be.at.least(3 * SHARDS)
    expect(new Set(tokens).size).to.be.at.least(2)
    expect(tokens).to.deep.equal(tokens.toSorted((one, other) => one - other))
  })

  it('continues when etcd was killed and comes back', async () => {
    const before = [...members[0]!.node.map.shards()].map(([at, { leader }]) => [at, leader?.node])
    await etcd.members[0]!.kill()
    await until(async () => members.every(({ node }) => node.map.health.kind === 'stale'))
    await until(async () => members.every(({ node }) => node.membership.state === 'away'))
    const known = [...members[0]!.node.map.shards()].map(([at, { leader }]) => [at, leader?.node])
    const refused = await errorOf(() => members[0]!.node.map.confirm(`t/s0`))

    await etcd.members[0]!.start()
    await until(async () => members.every(({ node }) => node.membership.state === 'registered'))
    await until(async () => elected() !== undefined)
    await createTable(observer, 'u', SHARDS)
    await until(async () => isSettled(members, 2 * SHARDS))

    expect(known).to.deep.equal(before)
    expect(refused).to.include({ code: 'UNAVAILABLE' })
    expect(members.map(({ node }) => node.map.health.kind)).to.deep.equal(
      members.map(() => 'current'),
    )
    expect(members.map(({ node }) => node.membership.incarnation)).to.deep.equal([1, 1, 1])
  })

  it('ends a drain', async () => {
    await start('n4')
    const [{ node: victim }] = [members[0]!]
    const entry = await observer.get(nodeKey(victim.id))
    const value = encodeNode({ ...decodeNode(entry!.value), state: 'draining' })
    await observer.commit({ when: [], changes: [{ type: 'put', key: nodeKey(victim.id), value }] })

    await until(
      async () => victim.load.holds === 0 && victim.map.configurationOf('t/s0') !== undefined,
    )

    const others = members.filter(({ node }) => node !== victim)
    await until(async () => isSettled(others))
    expect(others.map(({ node }) => node.load.holds)).to.deep.equal([SHARDS, SHARDS, SHARDS])
  })

  it('refuses a second process over a copied directory, which does not disturb the first', async () => {
    const [{ node: original }] = [members[0]!]
    await using coordination = await open(original.id, etcd.endpoints)
    const copy = {
      id: original.id,
      peer: 'elsewhere:1',
      coordination,
      clock: systemClock,
      root,
      ttlSeconds: TTL_SECONDS,
    }
    const error = await errorOf(() => StubNode.start(copy))

    expect(error).to.include({ code: 'CONFLICT' })
    expect(original.membership.state).to.equal('registered')
    await original.membership.leave()
    expect(original.membership.ended.aborted).to.equal(false)
  })

  it('elects a node that starts again over the same directory, in a new life', async () => {
    const member = members.find((each) => each !== elected())!
    await member.node.stop()
    await member.node.coordination.close()
    await member.proxy[Symbol.asyncDispose]()
    members.splice(members.indexOf(member), 1)
    await until(async () => isSettled(members))

    const again = await start(member.node.id)

    expect(again.node.membership.incarnation).to.equal(2)
    await until(async () =>
      [...again.node.map.shards().values()].every(({ inSync }) =>
        inSync.some(({ node, incarnation }) => node === again.node.id && incarnation === 2),
      ),
    )
  })
})
