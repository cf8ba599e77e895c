import { expect } from 'chai'
import { must } from '../../../../lib/assert.ts'
import type { KnownNode } from '../../../../node/cluster/known-cluster.ts'
import { NearReplicas } from '../../../../node/replicas/near-replicas.ts'
import type { PeerLink } from '../../../../node/peer/peer.ts'
import type { NodeId, ShardConfiguration } from '../../../../node/replication/core/configuration.ts'
import type { ShardReplica } from '../../../../node/shard/shard-replica.ts'
import { RemoteBench } from '../../../support/worlds/remote-bench.ts'
import { SHARD_ID } from '../../../support/worlds/remote-world.ts'

const SELF = 'self'
const PATH = 'table/0000000000000001'

interface Cluster {
  /** The zone of each node; "away" has a zone and no registration. */
  readonly zones: Readonly<Record<NodeId, string>>
  readonly replicas: readonly NodeId[]
  readonly leader?: NodeId
  readonly ownReplica?: ShardReplica
  /** Draws are taken in turn; then 0. */
  readonly draws?: readonly number[]
}

function nodeOf(id: NodeId, zone: string): KnownNode {
  const addresses = { api: 'host:1', peer: 'host:2' }
  const life = { incarnation: 1, version: '1', wholeSince: 1, isLeaving: false }
  const registration = { id, addresses, ...life }
  const known = { id, zone, state: undefined, addresses: undefined, liveRevision: 1 }
  return { ...known, registration: id === 'away' ? undefined : registration }
}

function configurationOf({ replicas, leader }: Cluster): ShardConfiguration {
  const inSync = replicas.map((node) => ({ node, incarnation: 1 }))
  const led = inSync.find(({ node }) => node === leader)
  const rest = { eligible: [], minInSync: 1, operation: 'first' }
  return { revision: 1, epoch: 1, leader: led, replicas, inSync, ...rest }
}

/** Asks replicas and says which nodes were asked. */
class Asked {
  readonly near: NearReplicas
  readonly nodes: NodeId[] = []
  readonly #bench: RemoteBench

  constructor(
    bench: RemoteBench,
    cluster: Cluster,
    links: Readonly<Record<NodeId, PeerLink>> = {},
  ) {
    const draws = [...(cluster.draws ?? [])]
    this.#bench = bench
    this.near = new NearReplicas({
      self: SELF,
      map: {
        node: (id) => nodeOf(id, cluster.zones[id] ?? ''),
        pathOf: () => PATH,
        configurationOf: () => configurationOf(cluster),
      },
      local: () => cluster.ownReplica,
      linkTo: (node) => {
        this.nodes.push(node)
        return links[node]
      },
      clock: bench.clock,
      hybridClock: bench.hybridClock,
      random: () => draws.shift() ?? 0,
    })
  }

  /** The nodes of the replicas, in the order in which they stand; "own" for the one that is here. */
  async nodesOf(replicas: readonly ShardReplica[], own?: ShardReplica): Promise<readonly NodeId[]> {
    const found: NodeId[] = []
    for (const replica of replicas) {
      this.nodes.length = 0
      if (replica !== own) await this.#bench.outcome(replica.closedTime())
      found.push(replica === own ? 'own' : must(this.nodes[0], 'the node that was asked'))
    }
    return found
  }
}

describe('NearReplicas', () => {
  it('names the own replica first, then those of the zone, then the others, then those away', async () => {
    await using bench = await RemoteBench.open()
    const own = bench.watched.shard
    const zones = { self: 'x', a: 'y', away: 'x', c: 'x' }
    const replicas = ['a', 'away', SELF, 'c']
    const asked = new Asked(bench, { zones, replicas, ownReplica: own })

    const nodes = await asked.nodesOf(asked.near.of(SHARD_ID), own)

    expect(nodes).to.deep.equal(['own', 'c', 'a', 'away'])
  })

  it('draws the order of replicas of one distance', async () => {
    await using bench = await RemoteBench.open()
    const zones = { self: 'x', a: 'x', b: 'x', c: 'x' }
    const cluster = { zones, replicas: ['a', 'b', 'c'], draws: [0.9, 0.1, 0.5] }
    const asked = new Asked(bench, cluster)

    expect(await asked.nodesOf(asked.near.of(SHARD_ID))).to.deep.equal(['b', 'c', 'a'])
  })

  it('has no replica nearer than a leader that is here, or unknown', async () => {
    await using bench = await RemoteBench.open()
    const cluster = { zones: {}, replicas: [SELF, 'a'], ownReplica: bench.watched.shard }

    const led = new Asked(bench, { ...cluster, leader: SELF })
    const leaderless = new Asked(bench, cluster)

    expect(led.near.nearerThanLeader(SHARD_ID)).to.equal(undefined)
    expect(leaderless.near.nearerThanLeader(SHARD_ID)).to.equal(undefined)
  })

  it('prefers the own replica to a leader elsewhere', async () => {
    await using bench = await RemoteBench.open()
    const own = bench.watched.shard
    const cluster = { zones: {}, replicas: ['a', SELF], leader: 'a', ownReplica: own }

    expect(new Asked(bench, cluster).near.nearerThanLeader(SHARD_ID)).to.equal(own)
  })

  it('prefers a replica of the own zone to a leader in another one, while it can be reached', async () => {
    await using bench = await RemoteBench.open()
    const links = { b: bench.world.places.linkOf('b') }
    const zones = { self: 'x', a: 'y', b: 'x' }
    const cluster = { zones, replicas: ['a', 'b'], leader: 'a' }

    const near = new Asked(bench, cluster, links)
    const found = near.near.nearerThanLeader(SHARD_ID)
    const unreachable = new Asked(bench, cluster)
    const sameZone = new Asked(bench, { ...cluster, zones: { self: 'x', a: 'x', b: 'x' } }, links)

    expect(found && (await near.nodesOf([found]))).to.deep.equal(['b'])
    expect(unreachable.near.nearerThanLeader(SHARD_ID)).to.equal(undefined)
    expect(sameZone.near.nearerThanLeader(SHARD_ID)).to.equal(undefined)
  })
})
