// Real nodes and a real etcd: what becomes of replicas whose tables were dropped while their node was away.

import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { must } from '../../lib/assert.ts'
import { seededRandom } from '../../lib/random.ts'
import { openEtcdCoordination } from '../../node/coordination/etcd/open-etcd-coordination.ts'
import { NodeProcesses, type TestNode } from '../support/processes/node-processes.ts'
import { until } from '../support/until.ts'

const SHARDS = 3

async function ask(node: TestNode, method: string, route: string, body?: object) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${node.api}/api/v1${route}`, { method, headers, ...sent })
  return { status: answer.status, body: JSON.parse((await answer.text()) || '{}') }
}

/** Resolves when every replica of the table is in sync, with the ids of its shards. */
async function createTable(node: TestNode, table: string): Promise<readonly string[]> {
  const made = await ask(node, 'POST', `/tables/${table}`, { num_shards: SHARDS })
  expect(made.status, JSON.stringify(made.body)).to.equal(201)
  let ids: string[] = []
  await until(async () => {
    const { body } = await ask(node, 'GET', `/cluster/shards?table=${table}`)
    const shards: { id: string; replicas: { in_sync: boolean }[] }[] = body.shards ?? []
    ids = shards.map(({ id }) => id)
    const isWhole = ({ replicas }: (typeof shards)[number]): boolean =>
      replicas.length === 3 && replicas.every((one) => one.in_sync)
    return shards.length === SHARDS && shards.every(isWhole)
  })
  return ids
}

async function onDisk(node: TestNode, ids: readonly string[]): Promise<readonly string[]> {
  const there = await readdir(path.join(node.dataDir, 'shards'))
  return ids.filter((id) => there.includes(id))
}

async function tombstones(cluster: NodeProcesses): Promise<number> {
  await using coordination = await openEtcdCoordination({
    endpoints: cluster.etcd.directEndpoints,
    cluster: 'test',
    owner: 'test',
    clock: systemClock,
    random: seededRandom(1),
  })
  return (await coordination.list('/tombstones/tables/')).entries.length
}

describe('replicas of dropped tables', function () {
  this.timeout(200_000)
  let directory: string
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-dropped-'))
  })
  afterEach(() => rm(directory, { recursive: true, force: true }))

  it('go when their node is back, and the tombstone after them', async () => {
    await using cluster = await NodeProcesses.start()
    const [first, , away] = cluster.nodes.map((node) => must(node, 'a node'))
    const ids = await createTable(first!, 'books')
    const kept = await createTable(first!, 'kept')
    await away!.kill()

    const dropped = await ask(first!, 'DELETE', '/tables/books')
    expect(dropped.status, JSON.stringify(dropped.body)).to.equal(204)
    await until(async () => (await onDisk(first!, ids)).length === 0)
    const whileAway = await tombstones(cluster)
    const before = await onDisk(away!, ids)
    await away!.start()
    await until(async () => (await tombstones(cluster)) === 0)

    expect(whileAway).to.equal(1)
    expect(before).to.deep.equal(ids)
    for (const node of cluster.nodes) {
      expect(await onDisk(node, ids), node.name).to.deep.equal([])
      expect(await onDisk(node, kept), node.name).to.deep.equal(kept)
    }
  })
})
