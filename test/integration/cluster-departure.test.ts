// The planned stop of one node: what clients of the others notice, in virtual time and of real processes.

import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { NodeProcesses } from '../support/processes/node-processes.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { planHistory } from '../support/simulation/cluster/cluster-plan.ts'
import { simulateCluster } from '../support/simulation/cluster/cluster-simulation.ts'
import { until } from '../support/until.ts'

/** `QUARRY_SIMULATION_SEEDS=1000` for a long run. */
const SEEDS = Number(process.env['QUARRY_SIMULATION_SEEDS'] ?? 8)
const FIRST_SEED = Number(process.env['QUARRY_SIMULATION_FIRST'] ?? 1)
/** A message takes 0.2 ms and a disk up to 1 ms here. A follower that is waited for is one for 3 s. */
const WAIT_MS_MAX = 50

describe('a planned stop of one node', () => {
  it('keeps no request of a simulated cluster waiting for more than some messages', async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const operations = { write: 3, read: 3 }
      const options = { seed, faults: ['leave'], operations, clients: 6 } as const
      const plan = planHistory(options)
      const once = { ...plan, faults: plan.faults.slice(0, 1) }

      const { longestMs } = await simulateCluster({ ...options, plan: once })

      expect(longestMs, `seed ${seed}`).to.be.at.most(WAIT_MS_MAX)
    }
  }).timeout(600_000)

  it('ends when no shard counts on the node any more', async () => {
    await using cluster = await NodeProcesses.start()
    const [stopped, other] = cluster.nodes.map((node) => must(node, 'a node'))
    const ending = must(stopped, 'the first node')
    using client = new StoreClient(must(other, 'the second node').api)
    await client.succeed('POST', '/api/v1/tables/books', '{"num_shards":6}')
    const { id } = JSON.parse(await readFile(path.join(ending.dataDir, 'format.json'), 'utf8'))
    const countsOn = async (): Promise<number> => {
      const { text } = await client.succeed('GET', '/api/v1/cluster/shards')
      const { shards } = JSON.parse(text)
      return shards.filter(({ replicas }: Shard) =>
        replicas.some(({ node, in_sync }) => node === id && in_sync),
      ).length
    }
    await until(async () => (await countsOn()) === 6)

    const { exitCode, log } = await ending.stop()

    expect(exitCode, log).to.equal(0)
    expect(await countsOn()).to.equal(0)
  }).timeout(200_000)
})

interface Shard {
  readonly replicas: readonly { readonly node: string; readonly in_sync: boolean }[]
}
