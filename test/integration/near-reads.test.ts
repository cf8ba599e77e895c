// Reads of any replica over three real nodes and a real etcd.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { NodeProcesses, type TestNode } from '../support/processes/node-processes.ts'
import { until } from '../support/until.ts'

const KEYS = Array.from({ length: 40 }, (_, i) => `${String.fromCodePoint(97 + (i % 26))}/${i}`)
const INSERTS = Object.fromEntries(KEYS.map((key, i) => [key, { title: `sea ${i}` }]))

async function ask(node: TestNode, route: string, body?: unknown): Promise<Response> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  return fetch(`${node.api}/api/v1${route}`, {
    headers: { 'content-type': 'application/json' },
    ...init,
  })
}

async function write(node: TestNode, inserts: object): Promise<void> {
  const body = { inserts, sync_level: 'full_index' }
  const answer = await ask(node, '/tables/books/batch', body)
  expect(answer.status, await answer.text()).to.equal(201)
}

function stalenessOf(answer: Response): number {
  return Number(must(answer.headers.get('x-service-staleness') ?? undefined, 'the header'))
}

async function scanned(node: TestNode): Promise<{ keys: readonly string[]; staleness: number }> {
  const answer = await ask(node, '/tables/books/lookup?consistency=stale', {})
  const lines = (await answer.text()).split('\n').filter((line) => line !== '')
  const keys = lines.map((line): string => JSON.parse(line).key)
  return { keys, staleness: answer.status === 200 ? stalenessOf(answer) : Infinity }
}

interface Found {
  readonly total: number
  readonly staleness: number
  readonly error: string | undefined
}

async function searched(node: TestNode, parameters: string): Promise<Found> {
  const query = { full_text_search: { match: 'sea', field: 'title' }, limit: 5 }
  const answer = await ask(node, `/tables/books/query${parameters}`, query)
  const text = await answer.text()
  if (answer.status !== 200) return { total: 0, staleness: Infinity, error: text }
  const [result] = JSON.parse(text).responses
  return { total: result.hits.total, staleness: result.staleness, error: result.error }
}

async function idOf(node: TestNode): Promise<string> {
  return JSON.parse(await readFile(path.join(node.dataDir, 'format.json'), 'utf8')).id
}

async function leaderOf(cluster: NodeProcesses): Promise<TestNode> {
  const answer = await ask(must(cluster.running[0], 'a node'), '/cluster/shards')
  const { shards } = JSON.parse(await answer.text())
  for (const node of cluster.running) if ((await idOf(node)) === shards[0]?.leader) return node
  throw new Error('no running node leads the first shard')
}

async function startCluster(): Promise<NodeProcesses> {
  const cluster = await NodeProcesses.start()
  const first = must(cluster.nodes[0], 'a node')
  const created = await ask(first, '/tables/books', { num_shards: 2 })
  expect(created.status, await created.text()).to.equal(201)
  for (const node of cluster.nodes) {
    await until(async () => (await ask(node, '/tables/books')).status === 200)
  }
  return cluster
}

describe('reads of any replica over real nodes', function () {
  this.timeout(300_000)

  it('answer while the leader and etcd are dead, and say how old the answer is', async () => {
    await using cluster = await startCluster()
    await write(must(cluster.nodes[0], 'a node'), INSERTS)
    for (const node of cluster.nodes) {
      await until(async () => {
        const { keys, staleness } = await scanned(node)
        return keys.length === KEYS.length && staleness < 5000
      })
    }

    const dead = await leaderOf(cluster)
    await must(cluster.etcd.members[0], 'a member of etcd').kill()
    await dead.kill()

    for (const node of cluster.running) {
      const looked = await ask(node, '/tables/books/lookup/a%2F0?consistency=stale')
      expect(looked.status).to.equal(200)
      expect(JSON.parse(await looked.text())).to.deep.equal({ title: 'sea 0' })
      const missing = await ask(node, '/tables/books/lookup/nobody?consistency=stale')
      expect(missing.status).to.equal(404)
      expect(stalenessOf(missing)).to.be.at.least(0)
      const { keys } = await scanned(node)
      expect([...keys].toSorted()).to.deep.equal(KEYS.toSorted())
      // The index of a follower may be behind its store; it needs nobody to catch up.
      await until(async () => {
        const { total, error } = await searched(node, '?consistency=stale')
        return total === KEYS.length && error === undefined
      })
    }
    const survivor = must(cluster.running[0], 'a node')
    // The age grows while nobody leads.
    await until(async () => (await scanned(survivor)).staleness >= 1500)
    expect((await scanned(survivor)).keys.length).to.equal(KEYS.length)
  })
})
