// Three real nodes and a real etcd: what was acknowledged is there whatever happens to one of them.

import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { NodeProcesses, type TestNode } from '../support/processes/node-processes.ts'
import { until } from '../support/until.ts'
import { runCommand } from './cli-session.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

async function ask(node: TestNode, route: string, body?: unknown): Promise<Response> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) }
  return fetch(`${node.api}/api/v1${route}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: JSON_TYPE,
    ...init,
  })
}

async function createTable(node: TestNode, shards: number): Promise<void> {
  const answer = await ask(node, '/tables/books', { num_shards: shards })
  expect(answer.status, await answer.text()).to.equal(201)
}

/** Writes until it is stopped, and knows what was acknowledged. */
class Writer {
  readonly acknowledged: string[] = []
  readonly #cluster: NodeProcesses
  readonly #name: string
  #isStopped = false
  readonly #running: Promise<void>

  constructor(cluster: NodeProcesses, name: string) {
    this.#cluster = cluster
    this.#name = name
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    for (let at = 0; !this.#isStopped; at++) {
      const { running } = this.#cluster
      const node = must(running[at % running.length], 'a node that runs')
      // Two keys of different shards: a transaction.
      const keys = [`a${this.#name}-${at}`, `z${this.#name}-${at}`]
      const inserts = Object.fromEntries(keys.map((key) => [key, { title: `sea ${at}` }]))
      const answer = await ask(node, '/tables/books/batch', { inserts }).catch(() => undefined)
      if (answer?.status === 201) this.acknowledged.push(...keys)
      await answer?.text()
    }
  }
}

async function expectAll(node: TestNode, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const answer = await ask(node, `/tables/books/lookup/${encodeURIComponent(key)}`)
    expect(answer.status, `${key} at ${node.name}: ${await answer.text()}`).to.equal(200)
  }
}

interface Shards {
  readonly shards: readonly {
    readonly leader?: string
    readonly replicas: readonly { readonly in_sync: boolean }[]
  }[]
}

async function shardsOf(node: TestNode): Promise<Shards['shards']> {
  const answer = await ask(node, '/cluster/shards')
  const { shards = [] }: Partial<Shards> = JSON.parse(await answer.text())
  return shards
}

async function idOf(node: TestNode): Promise<string> {
  return JSON.parse(await readFile(path.join(node.dataDir, 'format.json'), 'utf8')).id
}

async function leaderOf(cluster: NodeProcesses): Promise<TestNode> {
  const [first] = cluster.running
  const [shard] = await shardsOf(must(first, 'a node that runs'))
  for (const node of cluster.running) if ((await idOf(node)) === shard?.leader) return node
  throw new Error('no running node leads the first shard')
}

async function allInSync(node: TestNode): Promise<boolean> {
  const shards = await shardsOf(node)
  return shards.length > 0 && shards.every(({ replicas }) => replicas.every((one) => one.in_sync))
}

interface Listed {
  readonly nodes: readonly {
    readonly id: string
    readonly name: string
    readonly api: string
    readonly replicas: number
    readonly safe_to_stop: boolean
  }[]
  readonly age_ms?: number
  readonly problem?: string
}

async function listedBy(node: TestNode): Promise<Listed> {
  const answer = await ask(node, '/cluster/nodes')
  const text = await answer.text()
  expect(answer.status, text).to.equal(200)
  return JSON.parse(text)
}

/** A node without the control plane lists all nodes as it knows them, says how old that is, and calls none safe to stop. */
async function expectKnownNodes(asked: TestNode, before: Listed): Promise<void> {
  const known = ({ id, name, api, replicas }: Listed['nodes'][number]) => [id, name, api, replicas]
  // Its first questions may go to a member that still leads.
  await until(async () => {
    const { nodes, age_ms: age, problem } = await listedBy(asked)
    if (age === undefined) return false
    expect(nodes.map(known)).to.deep.equal(before.nodes.map(known))
    expect(nodes.map((one) => one.safe_to_stop)).to.deep.equal([false, false, false])
    expect(age).to.be.at.least(0)
    expect(problem).to.be.a('string').and.not.equal('')
    return true
  })
}

async function expectSaidByCommand({ api }: TestNode): Promise<void> {
  const [shown, json] = await Promise.all([
    runCommand(['cluster', 'nodes'], { url: api }),
    runCommand(['cluster', 'nodes', '--json'], { url: api }),
  ])

  expect([shown.exitCode, json.exitCode]).to.deep.equal([0, 0])
  expect(shown.stdout).to.match(/\nas the asked node knew them \d+ s ago: .+/)
  expect(json.stdout.trimEnd().split('\n')).to.have.length(3)
  expect(json.stderr).to.match(/^as the asked node knew them \d+ s ago: .+/)
}

/** Waits until each writer has new acknowledgements. */
async function writesAgain(writers: readonly Writer[]): Promise<void> {
  const before = writers.map(({ acknowledged }) => acknowledged.length)
  await until(async () =>
    writers.every(({ acknowledged }, i) => acknowledged.length > (before[i] ?? 0) + 4),
  )
}

describe('a cluster of real nodes', function () {
  this.timeout(400_000)

  it('loses no acknowledged write when its leader is killed, and takes it back in', async () => {
    await using cluster = await NodeProcesses.start()
    const [first] = cluster.nodes
    await createTable(must(first, 'a node'), 2)
    const writers = ['p', 'q', 'r'].map((name) => new Writer(cluster, name))
    await writesAgain(writers)

    const killed = await leaderOf(cluster)
    await killed.kill()
    await writesAgain(writers)
    await killed.start()
    await writesAgain(writers)
    for (const writer of writers) await writer.stop()

    await until(() => allInSync(killed))
    const keys = writers.flatMap(({ acknowledged }) => acknowledged)
    expect(keys.length).to.be.greaterThan(60)
    for (const node of cluster.nodes) await expectAll(node, keys)
    const found = await ask(killed, '/tables/books/query', {
      full_text_search: { match: 'sea', field: 'title' },
      limit: 1,
    })
    expect(found.status).to.equal(200)
  })

  it('hands leaderships over when a node stops in order, and takes writes elsewhere', async () => {
    await using cluster = await NodeProcesses.start()
    const [first] = cluster.nodes
    await createTable(must(first, 'a node'), 2)
    const writers = ['p', 'q'].map((name) => new Writer(cluster, name))
    await writesAgain(writers)

    const stopped = await leaderOf(cluster)
    const ending = await stopped.stop()

    expect(ending, ending.log).to.include({ exitCode: 0 })
    await writesAgain(writers)
    for (const writer of writers) await writer.stop()
    const keys = writers.flatMap(({ acknowledged }) => acknowledged)
    for (const node of cluster.running) await expectAll(node, keys)
  })

  it('serves reads and writes without a quorum of etcd, refuses new tables, and lists what it knows', async () => {
    await using cluster = await NodeProcesses.start(3, 3)
    const [first] = cluster.nodes
    const node = must(first, 'a node')
    await createTable(node, 2)
    const writer = new Writer(cluster, 'p')
    await writesAgain([writer])
    const before = await listedBy(node)

    const dead = cluster.etcd.members.slice(1)
    await Promise.all(dead.map((member) => member.kill()))
    await writesAgain([writer])
    const refused = await ask(node, '/tables/other', {})
    expect(refused.status, await refused.text()).to.equal(503)
    await Promise.all(cluster.nodes.map((asked) => expectKnownNodes(asked, before)))
    await expectSaidByCommand(node)
    await writesAgain([writer])
    await Promise.all(dead.map((member) => member.start()))
    await writer.stop()

    await expectAll(node, writer.acknowledged)
    await until(async () => (await ask(node, '/tables/other', {})).status !== 503)
    await until(async () => {
      const lists = await Promise.all(cluster.nodes.map(listedBy))
      return lists.every(({ age_ms: age, problem }) => age === undefined && problem === undefined)
    })
  })

  it('serves a table that one node has created at once on all others', async () => {
    await using cluster = await NodeProcesses.start()
    const [first, second, third] = cluster.nodes.map((node) => must(node, 'a node'))
    for (let at = 0; at < 5; at++) {
      const name = `t${at}`
      const created = await ask(must(first, 'a node'), `/tables/${name}`, { num_shards: 2 })
      expect(created.status, await created.text()).to.equal(201)

      const inserts = { 'a/1': { title: 'sea' } }
      const [written, found] = await Promise.all([
        ask(must(second, 'a node'), `/tables/${name}/batch`, { inserts }),
        ask(must(third, 'a node'), `/tables/${name}`),
      ])

      expect(written.status, await written.text()).to.equal(201)
      expect(found.status, await found.text()).to.equal(200)
    }
    const unknown = await ask(must(second, 'a node'), '/tables/unknown')
    expect(unknown.status, await unknown.text()).to.equal(404)
  })

  it('drops a table on all nodes, and creates it again under its name', async () => {
    await using cluster = await NodeProcesses.start()
    const [first, second, third] = cluster.nodes
    await createTable(must(first, 'a node'), 2)
    const inserts = { 'a/1': { title: 'old' } }
    const written = await ask(must(second, 'a node'), '/tables/books/batch', { inserts })
    expect(written.status, await written.text()).to.equal(201)

    const dropped = await fetch(`${must(third, 'a node').api}/api/v1/tables/books`, {
      method: 'DELETE',
    })
    expect(dropped.status, await dropped.text()).to.equal(204)
    for (const node of cluster.nodes) {
      await until(async () => (await ask(node, '/tables/books')).status === 404)
    }
    await createTable(must(second, 'a node'), 1)
    await until(async () => (await ask(must(first, 'a node'), '/tables/books')).status === 200)

    const found = await ask(must(first, 'a node'), '/tables/books/lookup/a%2F1')
    expect(found.status).to.equal(404)
  })

  it('builds the replicas of a node whose journal is gone anew, from those of others', async () => {
    await using cluster = await NodeProcesses.start()
    const [first] = cluster.nodes
    await createTable(must(first, 'a node'), 1)
    const writer = new Writer(cluster, 'p')
    await writesAgain([writer])
    const leader = await leaderOf(cluster)
    const damaged = must(
      cluster.nodes.find((node) => node !== leader),
      'a follower',
    )

    await damaged.kill()
    await rm(path.join(damaged.dataDir, 'journal'), { recursive: true })
    await damaged.start()

    await writesAgain([writer])
    await until(async () => (damaged.process?.log ?? '').includes('the journal is missing'))
    await until(() => allInSync(leader))
    await writer.stop()
    for (const node of cluster.nodes) await expectAll(node, writer.acknowledged)
    // The rebuilt replica has what the others have: it leads when they are gone.
    await damaged.stop()
    await damaged.start()
    await until(() => allInSync(leader))
  })
})
