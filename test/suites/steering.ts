// Operators steer a cluster of real nodes while clients write, read, search and scan. What they ask for happens and
// is seen on the way, and clients that retry notice nothing: no request fails, and no acknowledged write is lost.

import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { idOf, LoadedCluster } from '../support/worlds/loaded-cluster.ts'
import type { ShownNode, ShownShard } from '../support/servers/cluster-operator.ts'

/** One node alone takes writes of such a table, and three or more hold it three times. */
const REQUEST = { num_shards: 4, replication_factor: 3, min_in_sync: 1 }
const REPLICAS = 3

export interface SteeringOptions {
  readonly seed: number
  /** How often the cluster grows to five nodes and shrinks to three. */
  readonly rounds: number
  readonly clients: number
  /** Further bytes in each document. */
  readonly padding: number
}

export function describeSteering({ rounds, ...options }: SteeringOptions): void {
  describe('a cluster that is steered under load', function () {
    this.timeout(900_000)
    let cluster: LoadedCluster | undefined
    const steered = (): LoadedCluster => must(cluster, 'a cluster')

    before(async () => {
      cluster = await LoadedCluster.open({ ...options, request: REQUEST })
    })

    after(async () => {
      const figures = cluster?.figures ?? 'no cluster'
      process.stdout.write(`      ${figures}, QUARRY_TEST_SEED=${options.seed}\n`)
      await cluster?.[Symbol.asyncDispose]()
    })

    it('grows from one node to three, and each shard gets its replicas', () =>
      growToThree(steered()))

    for (let round = 1; round <= rounds; round++) describeRound(steered, round)

    describe('at the end', () => {
      it('has what was acknowledged, and all nodes show it', () => steered().expectContents())
    })
  })
}

function describeRound(steered: () => LoadedCluster, round: number): void {
  describe(`round ${round}`, () => {
    it('grows to five nodes, and moves replicas to the new ones as it is asked to', () =>
      growToFive(steered()))

    it('lets another replica lead when it is asked to', () => transferLeaders(steered()))

    it('drains a node and uses it again', () => drainAndUndrain(steered()))

    it('shrinks to three nodes by decommissioning two', () => shrinkToThree(steered()))

    it('hands over what a node leads that is ended in order, and takes it back', () =>
      endLeader(steered()))
  })
}

async function growToThree({ nodes, operator, load }: LoadedCluster): Promise<void> {
  await nodes.add(2)
  const seen = await operator.whole(REPLICAS)

  const moves = seen.flat().flatMap(({ move }) => (move === undefined ? [] : [move]))
  expect(moves.length, 'moves that were seen').to.be.greaterThan(0)
  expect(new Set(moves.map(({ cause }) => cause))).to.deep.equal(new Set(['grow']))
  const replicas = (await operator.nodes()).map((node) => node.replicas)
  expect(replicas).to.deep.equal(replicas.map(() => must(seen.at(-1), 'shards').length))
  await load.goesOn()
}

async function growToFive(cluster: LoadedCluster): Promise<void> {
  const { nodes, operator, load } = cluster
  const added = await Promise.all((await nodes.add(2)).map(idOf))
  const [byApi, byCommand] = added.map((id) => must(id, 'a new node'))

  await moveByApi(cluster, must(byApi, 'a new node'))
  await moveByCommand(cluster, must(byCommand, 'a new node'))

  await operator.whole(REPLICAS)
  for (const id of added) expect((await operator.node(id)).replicas).to.be.greaterThan(0)
  await load.goesOn()
}

async function moveByApi({ operator }: LoadedCluster, to: string): Promise<void> {
  const shard = await someShard(operator, (one) => one.replicas.every(({ node }) => node !== to))
  const from = must(shard.leader, 'a leader') // which has to hand over first
  const path = `cluster/shards/${shard.id}/move`
  const begun = await operator.steer<ShownShard>(path, { from, to })
  expect(begun.move).to.include({ cause: 'request', to })

  const seen = await operator.until(
    'the end of a move',
    () => operator.shard(shard.id),
    (now) => now.move === undefined && holds(now, to) && !holds(now, from),
  )
  const phases = seen.flatMap(({ move }) => (move === undefined ? [] : [move.phase]))
  const order = ['adding', 'catching_up', 'handing_over', 'removing']
  const places = phases.map((phase) => order.indexOf(phase))
  expect(places, phases.join()).to.deep.equal(places.toSorted((a, b) => a - b))
}

async function moveByCommand(cluster: LoadedCluster, to: string): Promise<void> {
  const { operator } = cluster
  const shard = await someShard(operator, (one) => one.replicas.every(({ node }) => node !== to))
  const { node: from } = must(
    shard.replicas.find(({ node }) => node !== shard.leader),
    'a follower',
  )

  const words = ['move', shard.id, '--from', from, '--to', to]
  const { out } = await cluster.command(...words)

  expect(out).to.equal(`the replica of shard ${shard.id} is on ${to}, and no longer on ${from}\n`)
}

async function transferLeaders(cluster: LoadedCluster): Promise<void> {
  const { operator, load } = cluster
  const [shard] = await operator.shards()
  const { id, epoch, leader } = must(shard, 'a shard')
  const [first, second] = must(shard, 'a shard').replicas.filter(({ node }) => node !== leader)
  const byApi = must(first, 'a follower').node
  const byCommand = must(second, 'a follower').node

  await operator.steer<ShownShard>(`cluster/shards/${id}/transfer-leader`, { to: byApi })
  await operator.until(
    'another leader',
    () => operator.shard(id),
    (now) => now.leader === byApi,
  )
  const { out } = await cluster.command('transfer-leader', id, '--to', byCommand)

  expect(out).to.equal(`${byCommand} leads shard ${id}\n`)
  expect((await operator.shard(id)).epoch).to.be.at.least(epoch + 2)
  await load.goesOn()
}

/** By the API and the command in turn; the node that leads most, so that there is something to hand over. */
async function drainAndUndrain(cluster: LoadedCluster): Promise<void> {
  const { operator, load } = cluster
  const { id } = await busiest(operator)

  const begun = await operator.steer<ShownNode>(`cluster/nodes/${id}/drain`)
  expect(begun).to.include({ state: 'draining' })
  await emptied(cluster, begun)
  await load.goesOn()
  const again = await cluster.command('drain', id.slice(0, 8))
  expect(again.out).to.equal(`node ${id} holds nothing; it may be stopped\n`)

  const { out } = await cluster.command('undrain', id)
  expect(out).to.equal(`node ${id} is in use\n`)
  expect(await operator.node(id)).to.include({ state: 'serving', condition: 'serving' })
}

/** The two that hold most go: their replicas find room on the node that was drained before. */
async function shrinkToThree(cluster: LoadedCluster): Promise<void> {
  const { operator, load } = cluster
  const byApi = await busiest(operator)
  const begun = await operator.steer<ShownNode>(`cluster/nodes/${byApi.id}/decommission`)
  expect(begun).to.include({ state: 'decommissioned' })
  await emptied(cluster, begun)
  await endGone(cluster, byApi.id)

  const byCommand = await busiest(operator)
  const { out, err } = await cluster.command('decommission', byCommand.id, '--yes')
  expect(out).to.equal(`node ${byCommand.id} holds nothing; it may be stopped for good\n`)
  expect(err).to.match(/\d+ replicas? left, \d+ leaders? left/)
  await endGone(cluster, byCommand.id)

  await operator.whole(REPLICAS)
  await load.goesOn()
}

async function endLeader(cluster: LoadedCluster): Promise<void> {
  const { operator, load } = cluster
  const { id } = await busiest(operator)
  const node = await cluster.processOf(id)

  const ending = await node.stop()

  expect(ending, ending.log).to.include({ exitCode: 0 })
  expect(ending.log).to.not.include('leaderships end with this node')
  const leaders = (await operator.shards()).map(({ leader }) => leader)
  expect(leaders).to.not.include(id)
  expect(leaders).to.not.include(null)
  await load.goesOn()
  await node.start()
  await operator.whole(REPLICAS)
  await load.goesOn()
}

/** Waits until the node holds nothing, and sees it hold less and less. */
async function emptied({ operator }: LoadedCluster, begun: ShownNode): Promise<void> {
  const before = must(begun.emptying, 'progress')
  expect(before.replicas_left).to.be.greaterThan(0)
  expect(before.done).to.equal(false)
  const seen = await operator.until(
    'an empty node',
    () => operator.node(begun.id),
    ({ emptying }) => emptying?.done === true,
  )
  const left = seen.map(({ emptying }) => must(emptying, 'progress').replicas_left)
  expect(left).to.deep.equal(left.toSorted((a, b) => b - a))
  expect(seen.at(-1)).to.include({ replicas: 0, leaders: 0, safe_to_stop: true })
}

async function endGone(cluster: LoadedCluster, id: string): Promise<void> {
  const ending = await (await cluster.processOf(id)).stop()
  expect(ending, ending.log).to.include({ exitCode: 0 })
}

/** The node in use that leads most, and holds most of those that lead as much. */
async function busiest(operator: LoadedCluster['operator']): Promise<ShownNode> {
  const serving = (await operator.nodes()).filter(({ condition }) => condition === 'serving')
  const [first] = serving.toSorted((a, b) => b.leaders - a.leaders || b.replicas - a.replicas)
  return must(first, 'a node that serves')
}

async function someShard(
  operator: LoadedCluster['operator'],
  isMeant: (shard: ShownShard) => boolean,
): Promise<ShownShard> {
  const shards = await operator.shards()
  return must(shards.find(isMeant), 'such a shard')
}

function holds({ replicas }: ShownShard, id: string): boolean {
  return replicas.some(({ node }) => node === id)
}
