// The contract of the API, against three real nodes: every operation done right, and bad input. Each request goes to
// the next node.

import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { BAD_CLUSTER_REQUESTS, BAD_STEERING } from '../contract/bad-cluster-requests.ts'
import { BAD_REQUESTS } from '../contract/bad-requests.ts'
import { ThreeNodes } from '../support/places/three-nodes.ts'
import type { ShownNode, ShownShard } from '../support/servers/cluster-operator.ts'
import { until } from '../support/until.ts'
import { describeBadInput } from '../suites/bad-input.ts'
import { describeOperations, type Operate } from '../suites/operations.ts'

const RECOVER = '/api/v1/cluster/recover'
const NODES = '/api/v1/cluster/nodes'
const SHARDS = '/api/v1/cluster/shards'

describe('a cluster', function () {
  this.timeout(300_000)
  const nodes = new ThreeNodes()
  after(() => nodes[Symbol.asyncDispose]())

  describeOperations(nodes, describeSteering)
  describeBadInput(nodes, [BAD_REQUESTS, BAD_CLUSTER_REQUESTS, BAD_STEERING], () => undefined)
})

function describeSteering(operate: Operate): void {
  async function disksOf(): Promise<readonly ShownNode['disk'][]> {
    const listed = await operate('listNodes', NODES)
    const shown: readonly ShownNode[] = JSON.parse(listed.body).nodes
    return shown.map(({ disk }) => disk)
  }

  async function shardsOf(table: string): Promise<readonly ShownShard[]> {
    return JSON.parse((await operate('listShards', `${SHARDS}?table=${table}`)).body).shards
  }

  it('show the nodes and the shards with their replicas', async () => {
    const listed = await operate('listNodes', NODES)
    const shown: readonly ShownNode[] = JSON.parse(listed.body).nodes
    const shards = await shardsOf('books')

    expect(shown.map(({ state }) => state)).to.deep.equal(['serving', 'serving', 'serving'])
    for (const node of shown) {
      expect(node).to.have.property('safe_to_update').which.is.a('boolean')
      expect(Date.parse(node.registered_at ?? ''))
        .to.be.a('number')
        .above(0)
    }
    expect(shards.map(({ replicas }) => replicas.length)).to.deep.equal([3, 3])
  })

  it('show how much room the disk of each node has, whichever is asked', async () => {
    await until(async () => (await disksOf()).every((disk) => disk !== undefined))

    for (const disk of [...(await disksOf()), ...(await disksOf()), ...(await disksOf())]) {
      const { total_bytes: total, free_bytes: free } = must(disk, 'a disk')
      expect(free).to.be.above(0).and.most(total)
    }
  })

  it('let another replica lead', async () => {
    const { id } = must((await shardsOf('books'))[0], 'a shard')
    const now = async (): Promise<ShownShard> => {
      return must(
        (await shardsOf('books')).find((shard) => shard.id === id),
        'the shard',
      )
    }
    await until(async () => (await now()).replicas.every(({ in_sync }) => in_sync))
    const { leader, replicas } = await now()
    const to = must(
      replicas.find(({ node }) => node !== leader),
      'a follower',
    ).node

    const path = `${SHARDS}/${id}/transfer-leader`
    const { status, body } = await operate('transferLeader', path, JSON.stringify({ to }))

    expect(status, body).to.equal(202)
    await until(async () => (await now()).leader === to)
  })

  it('refuse to move a replica to a node that has one', async () => {
    const { id, replicas } = must((await shardsOf('books'))[0], 'a shard')
    const [from, to] = replicas.map(({ node }) => node)

    const { status, body } = await operate(
      'moveReplica',
      `${SHARDS}/${id}/move`,
      JSON.stringify({ from, to }),
    )

    expect([status, JSON.parse(body).code]).to.deep.equal([409, 'CONFLICT'])
  })

  it('drain a node, and use it again', async () => {
    const shown: readonly ShownNode[] = JSON.parse((await operate('listNodes', NODES)).body).nodes
    const { id } = must(shown[0], 'a node')

    const drained = await operate('drainNode', `${NODES}/${id}/drain`)
    const used = await operate('undrainNode', `${NODES}/${id}/undrain`)

    expect([drained.status, used.status]).to.deep.equal([202, 202])
    expect(JSON.parse(drained.body).state).to.equal('draining')
    expect(JSON.parse(used.body).state).to.equal('serving')
  })

  it('keep the drain of one operation from others', async () => {
    const shown: readonly ShownNode[] = JSON.parse((await operate('listNodes', NODES)).body).nodes
    const { id } = must(shown[1], 'a node')

    const drained = await operate('drainNode', `${NODES}/${id}/drain`, by('scale-down-7'))
    const again = await operate('drainNode', `${NODES}/${id}/drain`, by('scale-down-7'))
    const other = await operate('undrainNode', `${NODES}/${id}/undrain`, by('scale-down-8'))
    const out = await operate('decommissionNode', `${NODES}/${id}/decommission`, by('x'))
    const used = await operate('undrainNode', `${NODES}/${id}/undrain`, by('scale-down-7'))
    const late = await operate('drainNode', `${NODES}/${id}/drain`, by('scale-down-7'))

    const statuses = [drained, again, other, out, used, late].map(({ status }) => status)
    expect(statuses).to.deep.equal([202, 202, 409, 409, 202, 409])
    expect(JSON.parse(drained.body).operation_id).to.equal('scale-down-7')
    expect(JSON.parse(other.body).error).to.include('scale-down-7').and.include('scale-down-8')
    expect(JSON.parse(used.body)).to.include({ state: 'serving' })
    expect(JSON.parse(used.body)).to.not.have.property('operation_id')
  })

  it('hand over what a node leads, keep it from leading, and let it lead again', async () => {
    const nodes = async (): Promise<readonly ShownNode[]> =>
      JSON.parse((await operate('listNodes', NODES)).body).nodes
    const { id } = must((await nodes()).toSorted((a, b) => b.leaders - a.leaders)[0], 'a node')
    const body = JSON.stringify({ operation_id: 'rollout-3', hold_ms: 600_000 })
    const now = async () => {
      return must(
        (await nodes()).find((node) => node.id === id),
        'the node',
      )
    }

    const begun = await operate('handOverLeaders', `${NODES}/${id}/hand-over`, body)
    const again = await operate('handOverLeaders', `${NODES}/${id}/hand-over`, body)
    const other = await operate('handOverLeaders', `${NODES}/${id}/hand-over`, by('rollout-4'))
    await until(async () => (await now()).leaders === 0)
    const shown = await now()
    const used = await operate('undrainNode', `${NODES}/${id}/undrain`, by('rollout-3'))

    expect([begun, again, other, used].map(({ status }) => status)).to.deep.equal([
      202, 202, 409, 202,
    ])
    expect(JSON.parse(begun.body).hold).to.include({ operation_id: 'rollout-3' })
    expect(JSON.parse(again.body).hold).to.deep.equal(JSON.parse(begun.body).hold)
    expect(JSON.parse(other.body).error).to.include('rollout-3').and.include('rollout-4')
    expect(shown).to.include({ state: 'serving', condition: 'serving' })
    expect(JSON.parse(used.body)).to.not.have.property('hold')
  })

  it('recover nothing while no node waits, however often', async () => {
    for (const body of ['', '{}', '{"without":["node"]}']) {
      const { status, body: text } = await operate('recoverCluster', RECOVER, body)
      expect([status, JSON.parse(text).performed, JSON.parse(text).recovery]).to.deep.equal([
        200,
        false,
        0,
      ])
    }
  })

  it('list no leftovers, and keep what the cluster knows', async () => {
    const shown: readonly ShownNode[] = JSON.parse((await operate('listNodes', NODES)).body).nodes
    const { id } = must(shown[0], 'a node')
    const [shard] = await shardsOf('books')
    const collect = (shards: readonly string[]) =>
      operate('collectLeftovers', `${NODES}/${id}/collect`, JSON.stringify({ shards }))

    const listed = await collect([])
    const gone = await collect(['0'.repeat(16)])
    const served = await collect([must(shard, 'a shard').id])
    const unknown = await operate('collectLeftovers', `${NODES}/node/collect`, '{}')

    const nothing = { removed: [], leftover_count: 0, leftovers: [] }
    expect([listed.status, JSON.parse(listed.body)]).to.deep.equal([200, nothing])
    expect([gone.status, JSON.parse(gone.body)]).to.deep.equal([200, nothing])
    expect([served.status, unknown.status]).to.deep.equal([409, 404])
  })

  it('refuse to decommission an unknown node', async () => {
    const { status } = await operate('decommissionNode', `${NODES}/node/decommission`)
    const forgotten = await operate('forgetNode', `${NODES}/node`)

    expect([status, forgotten.status]).to.deep.equal([404, 404])
  })
}

function by(operation: string): string {
  return JSON.stringify({ operation_id: operation })
}
