import { expect } from 'chai'
import { describeOperations, type Operate } from '../suites/operations.ts'
import { startApi } from './api-harness.ts'

const SWARM = { name: 'swarm mode', open: () => startApi({ isSearched: true }) }

describeOperations(SWARM, describeSteering)

function describeSteering(operate: Operate): void {
  it('show the one node and its shards, and steer nothing in swarm mode', async () => {
    const listed = await operate('listNodes', '/api/v1/cluster/nodes')
    const { body } = await operate('listShards', '/api/v1/cluster/shards?table=books&limit=1')
    const page = JSON.parse(body)
    const rest = await operate('listShards', `/api/v1/cluster/shards?cursor=${page.next_cursor}`)
    const [node, shard] = ['/api/v1/cluster/nodes/node', `/api/v1/cluster/shards/${'0'.repeat(16)}`]
    const refused = [
      await operate('drainNode', `${node}/drain`),
      await operate('undrainNode', `${node}/undrain`),
      await operate('decommissionNode', `${node}/decommission`),
      await operate('handOverLeaders', `${node}/hand-over`, '{"hold_ms":1000}'),
      await operate('forgetNode', node),
      await operate('collectLeftovers', `${node}/collect`, '{}'),
      await operate('recoverCluster', '/api/v1/cluster/recover', '{}'),
      await operate('moveReplica', `${shard}/move`, '{"from":"node","to":"b"}'),
      await operate('transferLeader', `${shard}/transfer-leader`, '{"to":"b"}'),
    ]

    expect(JSON.parse(listed.body).nodes).to.have.length(1)
    expect(page.shards).to.have.length(1)
    expect(JSON.parse(rest.body).shards.length).to.be.greaterThan(0)
    for (const { status, body: text } of refused) {
      expect([status, JSON.parse(text).code]).to.deep.equal([400, 'INVALID_ARGUMENT'])
    }
  })
}
