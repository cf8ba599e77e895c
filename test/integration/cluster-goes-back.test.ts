// Three real nodes and a real etcd, of which a part becomes what it was some time before: the volume of a node that is
// restored from a snapshot, or etcd from a backup.

import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { NodeProcesses, type TestNode } from '../support/processes/node-processes.ts'
import { rememberedBy } from '../support/processes/remembered-control-plane.ts'
import { freePorts } from '../support/servers/free-ports.ts'
import { recoveriesAtOnce, send, untilWaiting } from '../support/servers/recoveries-at-once.ts'
import { until } from '../support/until.ts'

const SHARDS = 2

async function ask(node: TestNode, route: string, body?: unknown): Promise<Response> {
  const sent = { method: 'POST', body: JSON.stringify(body) }
  return fetch(`${node.api}/api/v1${route}`, {
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : sent),
  })
}

interface Shard {
  readonly leader?: string
  readonly replicas: readonly { readonly in_sync: boolean }[]
}

async function shardsOf(node: TestNode): Promise<readonly Shard[]> {
  const answer = await ask(node, '/cluster/shards').catch(() => undefined)
  const told: { shards?: readonly Shard[] } = JSON.parse((await answer?.text()) ?? '{}')
  return told.shards ?? []
}

function isWhole({ leader, replicas }: Shard): boolean {
  return leader !== undefined && replicas.length === 3 && replicas.every((one) => one.in_sync)
}

async function inSync(node: TestNode, count = SHARDS): Promise<void> {
  await until(async () => {
    const shards = await shardsOf(node)
    return shards.length === count && shards.every(isWhole)
  })
}

async function leaderOf({ running }: NodeProcesses): Promise<TestNode> {
  const [shard] = await shardsOf(must(running[0], 'a node'))
  for (const node of running) {
    const { id } = JSON.parse(await readFile(path.join(node.dataDir, 'format.json'), 'utf8'))
    if (id === shard?.leader) return node
  }
  throw new Error('no running node leads the shard')
}

/** A table of one shard that the backup does not have. Answers its shard. */
async function createLater(node: TestNode): Promise<string> {
  const answer = await ask(node, '/tables/later', { num_shards: 1 })
  expect(answer.status, await answer.text()).to.equal(201)
  let found: string | undefined
  await until(async () => {
    const told = await (await ask(node, '/cluster/shards?table=later')).text()
    const [shard] = JSON.parse(told).shards
    found = shard?.id
    return shard !== undefined && isWhole(shard)
  })
  return must(found, 'a shard')
}

/** What the control plane has forgotten stays on the disks until a person names it. */
async function collectLater(nodes: readonly TestNode[], shard: string): Promise<void> {
  const [asked] = nodes
  const listed = await (await ask(must(asked, 'a node'), '/cluster/nodes')).text()
  const seen: readonly { readonly id: string }[] = JSON.parse(listed).nodes
  expect(seen).to.have.length(nodes.length)
  for (const { id } of seen) {
    const collect = (body: object) => send(`${asked!.api}/api/v1/cluster/nodes/${id}/collect`, body)
    expect((await collect({}))?.body).to.deep.equal({
      removed: [],
      leftover_count: 1,
      leftovers: [shard],
    })
    const removed = await collect({ shards: [shard] })
    expect(removed?.body).to.deep.equal({
      removed: [shard],
      leftover_count: 0,
      leftovers: [],
    })
  }
}

class Books {
  readonly #cluster: NodeProcesses
  readonly #shards: number
  readonly keys: string[] = []

  constructor(cluster: NodeProcesses, shards = SHARDS) {
    this.#cluster = cluster
    this.#shards = shards
  }

  async create(): Promise<void> {
    const answer = await ask(this.#node, '/tables/books', { num_shards: this.#shards })
    expect(answer.status, await answer.text()).to.equal(201)
    await inSync(this.#node, this.#shards)
  }

  /** Each is acknowledged when this resolves. */
  async write(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const key = `${'afkpuz'[i % 6]}${this.keys.length}`
      await until(async () => {
        const inserts = { [key]: { n: i } }
        const answer = await ask(this.#node, '/tables/books/batch', { inserts })
        await answer.text()
        return answer.status === 201
      })
      this.keys.push(key)
    }
  }

  /** Every node has all of them. */
  async check(): Promise<void> {
    for (const node of this.#cluster.running) {
      await inSync(node, this.#shards)
      const missing: string[] = []
      for (const key of this.keys) {
        const answer = await ask(node, `/tables/books/lookup/${key}`)
        await answer.text()
        if (answer.status !== 200) missing.push(key)
      }
      expect(missing, node.name).to.deep.equal([])
    }
  }

  get #node(): TestNode {
    return must(this.#cluster.running[0], 'a node that runs')
  }
}

describe('a cluster of which a part goes back', function () {
  this.timeout(400_000)
  let directory: string

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-back-'))
  })

  afterEach(async () => {
    await rm(directory, { recursive: true, force: true })
  })

  for (const others of ['none', 'all'] as const) {
    it(`loses nothing when a volume goes back and ${others} of the other nodes restart`, async () => {
      await using cluster = await NodeProcesses.start()
      const books = new Books(cluster)
      await books.create()
      await books.write(30)
      const [back, ...rest] = cluster.nodes
      const node = must(back, 'a node')
      const copy = path.join(directory, 'snapshot')
      const { pid } = must(node.process, 'its process')
      // As a snapshot of the volume under a process of the latest life.
      process.kill(pid, 'SIGSTOP')
      await cp(node.dataDir, copy, { recursive: true })
      process.kill(pid, 'SIGCONT')
      await inSync(must(rest[0], 'another node'))
      await books.write(60)

      const restarted = others === 'all' ? cluster.nodes : [node]
      await Promise.all(restarted.map((one) => one.kill()))
      await rm(node.dataDir, { recursive: true })
      await cp(copy, node.dataDir, { recursive: true })
      await Promise.all(restarted.map((one) => one.start()))

      await books.check()
      await books.write(10)
      await books.check()
    })
  }

  it('waits when etcd is restored under other ids, and loses nothing after recoveries at once', async () => {
    await using cluster = await NodeProcesses.start(0)
    const ports = await freePorts(3)
    for (const port of ports) await cluster.add(1, ['--api-port', `${port}`])
    const { etcd } = cluster
    const member = must(etcd.members[0], 'a member of etcd')
    const books = new Books(cluster)
    await books.create()
    await books.write(20)
    const before = await etcd.ids()
    const snapshot = path.join(directory, 'snapshot.db')
    await member.saveSnapshot(snapshot)
    // Leaderships end after the backup, so that etcd forgets epochs that replicas have promised.
    for (const node of cluster.nodes.slice(0, 2)) {
      await node.kill()
      await node.start()
      await books.write(10)
      await inSync(node)
    }
    const later = await createLater(must(cluster.nodes[0], 'a node'))
    await Promise.all(cluster.nodes.map((node) => node.kill()))

    await member.restoreSnapshot(snapshot, 'after-a-restore')
    const after = await etcd.ids()
    expect(after.cluster).not.to.equal(before.cluster)
    expect(after.member).not.to.equal(before.member)
    const starts = cluster.nodes.map((node) => node.start())
    const [asked, other] = ports.map((port) => `http://127.0.0.1:${port}/api/v1`)
    await untilWaiting(asked)
    await until(async () => (await recoveriesAtOnce([asked, other], etcd)) === 1)
    // A second try at any node answers that nobody waits any more.
    await until(async () => {
      const answer = await send(`${other}/cluster/recover`)
      if (answer !== undefined) {
        const { performed, recovery } = answer.body
        expect([answer.status, performed, recovery]).to.deep.equal([200, false, 1])
      }
      return answer !== undefined
    })
    await Promise.all(starts)

    await books.check()
    await books.write(10)
    await books.check()
    await collectLater(cluster.nodes, later)
  })

  it('waits when a restored etcd has the same ids and a greater revision than before', async () => {
    await using cluster = await NodeProcesses.start(0)
    const ports = await freePorts(3)
    for (const port of ports) await cluster.add(1, ['--api-port', `${port}`])
    const { etcd } = cluster
    const member = must(etcd.members[0], 'a member of etcd')
    const books = new Books(cluster, 1)
    await books.create()
    const snapshot = path.join(directory, 'snapshot.db')
    await member.saveSnapshot(snapshot)
    const before = await etcd.ids()
    const leader = await leaderOf(cluster)
    const follower = must(
      cluster.nodes.find((node) => node !== leader),
      'a follower',
    )
    await follower.kill()
    // The leader keeps its epoch, and takes the follower out of the set in sync. A node that starts first believes what it
    // has seen nothing newer than, so both have to remember it.
    await books.write(30)
    const others = cluster.nodes.filter((node) => node !== follower)
    for (const node of others) {
      await until(async () => (await rememberedBy(node)).some((one) => one.inSync.length === 2))
    }
    const ahead = await etcd.ids()
    await Promise.all(cluster.nodes.map((node) => node.kill()))

    await member.restoreSnapshot(snapshot)
    await etcd.writeUntil(ahead.revision + 1)
    const { cluster: store } = await etcd.ids()
    expect(store).to.equal(before.cluster)
    const apis = new Map(
      cluster.nodes.map((node, at) => [node, `http://127.0.0.1:${ports[at]}/api/v1`]),
    )
    const starts = others.map((node) => node.start())
    const [asked, other] = others.map((node) => apis.get(node))
    await untilWaiting(asked)
    // It was away when the set changed, so it has seen nothing that is newer. It waits because others do (CPM3).
    starts.push(follower.start())
    await untilWaiting(apis.get(follower))
    await until(async () => (await recoveriesAtOnce([asked, other], etcd)) === 1)
    await Promise.all(starts)

    await books.check()
  })
})
