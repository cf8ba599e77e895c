// Nodes that are registered in etcd and that other nodes cannot use: nothing is placed on them, and the status names
// the cause.

import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { NodeProcesses } from '../support/processes/node-processes.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { until } from '../support/until.ts'

interface Node {
  readonly name?: string
  readonly replicas: number
  readonly unreached?: string
}

describe('a node that other nodes cannot use', function () {
  this.timeout(300_000)

  const CAUSES = {
    'has a wrong secret': async (cluster: NodeProcesses) => {
      const file = await cluster.file('wrong-secret', 'another secret than theirs')
      return ['--cluster-secret-file', file]
    },
    'advertises an address where nobody answers': async () => [
      '--advertise-url',
      'http://127.0.0.2:1',
    ],
  }

  for (const [cause, optionsOf] of Object.entries(CAUSES)) {
    it(`takes no replicas and is not ready when it ${cause}`, async () => {
      await using cluster = await NodeProcesses.start()
      const options = await optionsOf(cluster)
      const [stranger] = await cluster.add(1, options)
      using client = new StoreClient(must(cluster.nodes[0], 'a node').api)
      const nodes = async (): Promise<readonly Node[]> => {
        const { text } = await client.succeed('GET', '/api/v1/cluster/nodes')
        return JSON.parse(text).nodes
      }
      const seen = async () => (await nodes()).find(({ name }) => name === stranger?.name)
      await until(async () => (await seen())?.unreached !== undefined)

      await client.succeed('POST', '/api/v1/tables/books', '{"num_shards":8}')

      expect((await seen())?.replicas).to.equal(0)
      const status = JSON.parse((await client.succeed('GET', '/api/v1/status')).text)
      expect(status.health).to.equal('degraded')
      expect(status.message).to.include(`node ${stranger?.name} takes no replicas`)
      const others = (await nodes()).filter(({ name }) => name !== stranger?.name)
      expect(others.map(({ unreached }) => unreached)).to.deep.equal([
        undefined,
        undefined,
        undefined,
      ])
      const ready = await fetch(`${must(stranger?.process, 'its process').health}/readyz`)
      expect(ready.status, await ready.text()).to.equal(503)
    })
  }
})
