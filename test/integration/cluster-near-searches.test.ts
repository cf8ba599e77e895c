// Default searches at three real nodes: a node answers by its own replicas, and finds what every writer was promised.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { NodeProcesses, type TestNode } from '../support/processes/node-processes.ts'
import { until } from '../support/until.ts'

const ROUNDS = Number(process.env['QUARRY_TEST_ROUNDS'] ?? 30)
/** A leader moves after so many rounds. */
const ROUNDS_OF_A_LEADER = 6

async function ask(node: TestNode, route: string, body?: unknown): Promise<Response> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  return fetch(`${node.api}/api/v1${route}`, {
    headers: { 'content-type': 'application/json' },
    ...init,
  })
}

/** Acknowledged when it is searchable. Tried again while its shard is between two leaders. */
async function writeSearchable(node: TestNode, inserts: object): Promise<void> {
  const body = { inserts, sync_level: 'full_text' }
  await until(async () => {
    const answer = await ask(node, '/tables/books/batch', body)
    await answer.text()
    return answer.status === 201
  })
}

/** How many documents the word is in, once all shards answer. */
async function totalOf(node: TestNode, word: string): Promise<number> {
  const query = { full_text_search: { match: word, field: 'title' }, limit: 5 }
  let total = 0
  await until(async () => {
    const answer = await ask(node, '/tables/books/query', query)
    const text = await answer.text()
    if (answer.status !== 200) return false
    const [result] = JSON.parse(text).responses
    total = result.hits.total
    return result.error === undefined
  })
  return total
}

/** Questions that the indexes of a node were asked since its start. */
async function questionsOf(node: TestNode): Promise<number> {
  const { health } = must(node.process, 'a process')
  const text = await (await fetch(`${health}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith('quarry_text_index_questions_total '))
  return Number(must(line, 'the metric').split(' ')[1])
}

async function idOf(node: TestNode): Promise<string> {
  return JSON.parse(await readFile(path.join(node.dataDir, 'format.json'), 'utf8')).id
}

interface ShownShard {
  readonly id: string
  readonly leader: string
  readonly epoch: number
  readonly replicas: readonly { readonly node: string; readonly in_sync: boolean }[]
}

async function shardsOf(node: TestNode): Promise<readonly ShownShard[]> {
  const answer = await ask(node, '/cluster/shards?table=books')
  return JSON.parse(await answer.text()).shards
}

const isInSync = ({ replicas }: ShownShard): boolean =>
  replicas.filter((one) => one.in_sync).length === 3

async function startCluster(shardCount: number): Promise<NodeProcesses> {
  const cluster = await NodeProcesses.start()
  const first = must(cluster.nodes[0], 'a node')
  const created = await ask(first, '/tables/books', { num_shards: shardCount })
  expect(created.status, await created.text()).to.equal(201)
  await until(async () => {
    const shards = await shardsOf(first)
    return shards.length === shardCount && shards.every(isInSync)
  })
  return cluster
}

describe('searches at three real nodes', function () {
  this.timeout(600_000)

  it('ask no index of a leader while the own replicas have caught up', async () => {
    await using cluster = await startCluster(2)
    const writer = must(cluster.nodes[0], 'a node')
    const titles = Array.from({ length: 20 }, (_, i) => [`${i}/a`, { title: `sea w${i}` }] as const)
    await writeSearchable(writer, Object.fromEntries(titles))
    const leaders = new Set((await shardsOf(writer)).map(({ leader }) => leader))
    const ids = await Promise.all(cluster.nodes.map(idOf))
    const follower = must(
      cluster.nodes.find((_, i) => !leaders.has(ids[i] ?? '')),
      'a node that leads no shard',
    )
    const others = cluster.nodes.filter((node) => node !== follower)

    // Followers hear of the last commit with a heartbeat; until then the leaders are asked.
    await until(async () => {
      const before = await Promise.all(others.map(questionsOf))
      const own = await questionsOf(follower)
      for (let i = 0; i < 5; i++) expect(await totalOf(follower, 'sea')).to.equal(20)
      const after = await Promise.all(others.map(questionsOf))
      const isOwn = (await questionsOf(follower)) >= own + 20
      return isOwn && after.every((count, i) => count === before[i])
    })
  })

  it('find every acknowledged write at every node at once, while leaders move', async () => {
    await using cluster = await startCluster(1)
    const { nodes } = cluster
    const ids = await Promise.all(nodes.map(idOf))
    const epochOf = async (): Promise<number> =>
      must((await shardsOf(must(nodes[0], 'a node')))[0], 'a shard').epoch
    const firstEpoch = await epochOf()
    let moving: Promise<unknown> = Promise.resolve()
    for (let round = 0; round < ROUNDS; round++) {
      const writer = must(nodes[round % nodes.length], 'a node')
      if (round % ROUNDS_OF_A_LEADER === ROUNDS_OF_A_LEADER - 1) {
        await moving
        const shard = must((await shardsOf(writer))[0], 'a shard')
        const to = ids[(ids.indexOf(shard.leader) + 1) % ids.length]
        const route = `/cluster/shards/${shard.id}/transfer-leader`
        moving = until(async () => (await ask(writer, route, { to })).status === 202)
      }

      await writeSearchable(writer, { [round]: { title: `sea w${round}` } })

      const totals = await Promise.all(nodes.map((node) => totalOf(node, `w${round}`)))
      expect(totals, `round ${round}`).to.deep.equal([1, 1, 1])
      const all = await Promise.all(nodes.map((node) => totalOf(node, 'sea')))
      expect(all, `all of round ${round}`).to.deep.equal(nodes.map(() => round + 1))
    }
    await moving
    await until(async () => (await epochOf()) >= firstEpoch + 2)
  })
})
