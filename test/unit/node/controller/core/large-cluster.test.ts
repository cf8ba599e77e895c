import { expect } from 'chai'
import { LargeCluster } from '../../../../support/simulation/controller/large-cluster.ts'

const NODES = 100
const SHARDS = 10_000
const REPLICAS = 3

/** `QUARRY_SIMULATION_FIGURES=1` prints what the controller did, and how long its plans took. */
const SHOWS_FIGURES = process.env['QUARRY_SIMULATION_FIGURES'] !== undefined

describe('the controller of 100 nodes with 10,000 shards', () => {
  const cluster = new LargeCluster({ nodes: NODES, shards: SHARDS })
  let changes = 0

  /** Answers the changes that it took. */
  function settle(what: string): number {
    const times = cluster.rest()
    const took = cluster.changes - changes
    changes = cluster.changes
    if (SHOWS_FIGURES) process.stdout.write(`${what}: ${JSON.stringify({ took, ...times })}\n`)
    return took
  }

  function expectBalance(nodes: number): void {
    const { replicas, leaders } = cluster.counts()
    expect([...leaders.values()].filter((count) => count > 0)).to.have.length(nodes)
    for (const [id, count] of leaders) {
      expect(count, `leaders of ${id}`).to.be.closeTo(SHARDS / nodes, (0.1 * SHARDS) / nodes)
    }
    const mean = (REPLICAS * SHARDS) / nodes
    for (const [id, count] of replicas) {
      expect(count, `replicas of ${id}`).to.be.closeTo(mean, 0.1 * mean)
    }
  }

  it('places every shard with one change, evenly', () => {
    const took = settle('placed')

    expect(took).to.equal(SHARDS)
    expectBalance(NODES)
  })

  it('replaces the replicas of a lost node, and leaves the others alone', () => {
    cluster.stop(cluster.node(5))

    const took = settle('lost')

    // An election for a third of its replicas, and two changes for each: start and end of a move.
    expect(took).to.be.below((REPLICAS * SHARDS * 3) / NODES)
    expectBalance(NODES - 1)
  })

  it('fills a new node', () => {
    cluster.join('c')

    settle('joined')

    expectBalance(NODES)
  })

  it('empties a draining node', () => {
    const node = cluster.node(7)
    cluster.drain(node)

    settle('drained')

    expect(cluster.counts().replicas.has(node.id)).to.equal(false)
    expectBalance(NODES - 1)
  })
})
