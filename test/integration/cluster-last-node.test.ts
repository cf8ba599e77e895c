// The last node of a cluster: no other node is left that confirms the writes of its shards, and its end does not wait
// for that.

import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { NodeProcesses } from '../support/processes/node-processes.ts'
import { StoreClient } from '../support/servers/store-client.ts'

const BOOKS = '/api/v1/tables/books'
const WRITERS = 32
const WRITES = 2000

describe('the last node of a cluster', function () {
  this.timeout(300_000)
  let cluster: NodeProcesses
  before(async () => {
    cluster = await NodeProcesses.start()
  })
  after(() => cluster[Symbol.asyncDispose]())

  it('ends in order, though transactions are under way that only the others could confirm', async () => {
    const [last, ...others] = cluster.nodes
    const node = must(last, 'a node')
    using client = new StoreClient(node.api)
    await client.succeed('POST', BOOKS, '{"split_keys":["m"]}')
    let written = 0
    const write = async (writer: number): Promise<void> => {
      for (let i = 0; ; i++) {
        const title = 'on both shards'
        const inserts = { [`a${writer}-${i}`]: { title }, [`z${writer}-${i}`]: { title } }
        try {
          await client.succeed('POST', `${BOOKS}/batch`, JSON.stringify({ inserts }))
        } catch {
          return
        }
        written += 1
        if (written === WRITES) for (const other of others) void other.kill()
      }
    }
    const enough = Promise.all(Array.from({ length: WRITERS }, (_, i) => write(i)))
    while (others.some(({ process }) => process !== undefined)) await new Promise(setImmediate)

    const { exitCode, log } = await node.stop()

    await enough
    expect(exitCode, log).to.equal(0)
  })
})
