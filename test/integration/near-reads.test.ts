// Reads of any replica over three real nodes and a real etcd.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { NodeProcesses, type TestNode } from '../support/processes/node-processes.ts'
import { until } from '../support/until.ts'

/** More than a scan by `ids` looks up before it walks pages (LOOKED_UP of seek-keys.ts). */
const KEYS = Array.from({ length: 300 }, (_, i) => `${String.fromCodePoint(97 + (i % 26))}/${i}`)
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

interface Scanned {
  readonly keys: readonly string[]
  readonly staleness: number
}

async function scanned(node: TestNode, filter?: object): Promise<Scanned> {
  const body = filter === undefined ? {} : { filter_query: filter }
  const answer = await ask(node, '/tables/books/lookup?consistency=stale', body)
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

/** Keys of both shards: few and far from each other, many beside each other, and both. */
const SOUGHT: Readonly<Record<string, readonly string[]>> = {
  one: ['m/12'],
  few: ['z/25', 'a/0', 'm/38'],
  'many in a row': KEYS.filter((_, i) => i % 4 !== 0),
  'some here and there': KEYS.filter((_, i) => i % 3 === 0),
  all: KEYS,
}

/** By `ids` comes what a walk would show: each document once, in key order, and nothing for unknown keys. */
async function expectSought(node: TestNode): Promise<void> {
  for (const [what, keys] of Object.entries(SOUGHT)) {
    const ids = [...keys.toReversed(), 'a/none', ...keys.slice(0, 3), 'zz/none']
    const found = await scanned(node, { ids })
    expect(found.keys, `${what} at ${node.name}`).to.deep.equal(keys.toSorted())
    expect(found.staleness).to.be.at.least(0)
  }
  const none = await scanned(node, { ids: ['a/none', 'zz/none'] })
  expect([none.keys, Number.isFinite(none.staleness)]).to.deep.equal([[], true])
}

/** What was acknowledged anywhere is shown everywhere before long. */
async function expectNews(cluster: NodeProcesses): Promise<void> {
  const asked = cluster.running
  for (const [at, writer] of asked.entries()) {
    const key = `n/new-${at}`
    await write(writer, { [key]: { title: 'new' } })
    for (const node of asked) {
      await until(async () => (await scanned(node, { ids: [key, 'a/0'] })).keys.length === 2)
    }
  }
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

    for (const node of cluster.nodes) await expectSought(node)
    await expectNews(cluster)

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
      expect(keys.filter((key) => KEYS.includes(key)).toSorted()).to.deep.equal(KEYS.toSorted())
      await expectSought(node)
      // The index of a follower may be behind its store; it needs nobody to catch up.
      await until(async () => {
        const { total, error } = await searched(node, '?consistency=stale')
        return total === KEYS.length && error === undefined
      })
    }
    const survivor = must(cluster.running[0], 'a node')
    // The age grows while nobody leads.
    await until(async () => (await scanned(survivor)).staleness >= 1500)
    const ids = KEYS.slice(0, 100)
    const sought = await scanned(survivor, { ids })
    const again = await scanned(survivor, { ids })
    expect(sought.keys).to.deep.equal(ids.toSorted())
    expect(sought.staleness).to.be.at.least(1500)
    expect(again.staleness, 'the same moment, later').to.be.at.least(sought.staleness)
  })
})
