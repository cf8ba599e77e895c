// One new document in each request, acknowledged when three replicas have it on disk.

import { latencyOf, perSecond } from '../documents/comparison.ts'
import { insertPlans } from '../documents/single-writes.ts'
import { batchPath, createTable, startQuarry } from '../documents/quarry-server.ts'
import type { InsertTarget } from '../load/load-job.ts'
import type { Finding, Goal, LatencyFinding, RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { startEtcd } from './etcd-members.ts'
import { startPostgres } from './postgres-cluster.ts'
import { pidsOf, startCluster } from './quarry-cluster.ts'
import { cpuMicros, generatorNotes, runTurns, warmUp } from './turns.ts'
import type { SideResults, TurnSide } from './turns.ts'

const TABLE = 'writes'
const SPREAD_TABLE = 'spread-writes'
const CLIENTS = [1, 64]
const LABEL = 'replicated single-document writes'

/** Our sides: by way of the leader; and over all nodes, with a shard for each; and with one replica. */
const OURS = { leader: 'at the leader', spread: 'over all nodes', single: 'one replica' } as const
const PEERS = {
  postgres: 'PostgreSQL with two synchronous standbys',
  etcd: 'three members of etcd',
} as const

type Goals = Readonly<Record<number, Goal>>
const POSTGRES_GOALS: Goals = { 64: { kind: 'at-least', value: 0.6 } }
const ETCD_GOALS: Goals = { 64: { kind: 'at-least', value: 1.5 } }
const SINGLE_GOALS: Goals = { 1: { kind: 'at-most', value: 2.5 } }

export async function replicatedWrites(bench: Bench): Promise<RowResult> {
  await using stack = new AsyncDisposableStack()
  const sides = await startSides(bench, stack)
  await warmUp(bench, sides)
  const findings: Finding[] = []
  const latencies: LatencyFinding[] = []
  const notes: string[] = []
  for (const clients of CLIENTS) {
    const results = await runTurns(bench, sides, { label: LABEL, clients })
    findings.push(...findingsOf(results, clients))
    for (const { side, results: ofSide } of results) {
      latencies.push(latencyOf(LABEL, { side: side.name, clients, results: ofSide }))
    }
    notes.push(...generatorNotes(`${LABEL}, ${clients} clients`, results))
  }
  return { findings, latencies, notes }
}

async function startSides(bench: Bench, stack: AsyncDisposableStack): Promise<readonly TurnSide[]> {
  const cluster = stack.use(await startCluster(bench, 'writes'))
  await cluster.createTable(TABLE, { num_shards: 1 })
  await cluster.createTable(SPREAD_TABLE, { num_shards: cluster.nodes.length })
  const leader = await cluster.leaderOf(TABLE)
  const swarm = stack.use(await startQuarry(bench, 'writes-swarm'))
  await createTable(swarm, TABLE, { num_shards: 1 })
  const postgres = stack.use(await startPostgres(bench))
  const etcd = stack.use(await startEtcd(bench, 'peer', 3))
  const etcdOrigin = await etcd.leader()
  const side = sidesOf(bench.seed)
  const batch = { kind: 'batch', path: batchPath(TABLE) } as const
  const spread = { kind: 'batch', path: batchPath(SPREAD_TABLE) } as const
  return [
    side(OURS.leader, { origins: [leader.origin], pids: pidsOf(cluster, leader), target: batch }),
    side(PEERS.postgres, {
      origins: [postgres.origin],
      pids: postgres.pids,
      target: { kind: 'postgres' },
    }),
    side(PEERS.etcd, { origins: [etcdOrigin], pids: etcd.pids, target: { kind: 'etcd' } }),
    side(OURS.spread, {
      origins: cluster.nodes.map(({ origin }) => origin),
      pids: pidsOf(cluster, leader),
      target: spread,
    }),
    side(OURS.single, { origins: [swarm.origin], pids: [swarm.process.pid], target: batch }),
  ]
}

type SideParts = Pick<TurnSide, 'origins' | 'pids'> & { readonly target: InsertTarget }

function sidesOf(seed: number): (name: string, parts: SideParts) => TurnSide {
  return (name, { origins, pids, target }) => {
    const plans = insertPlans(seed, 0)
    return { name, origins, pids, nextPlan: () => plans(target) }
  }
}

function findingsOf(all: readonly SideResults[], clients: number): readonly Finding[] {
  const of = (name: string) => all.find(({ side }) => side.name === name)?.results ?? []
  const costs = (name: string) => of(name).map(cpuMicros)
  const rates = (name: string) => of(name).map(perSecond)
  const middles = (name: string) => of(name).map(({ p50Ms }) => p50Ms)
  const counted = `${clients} ${clients === 1 ? 'client' : 'clients'}`
  const against = (ours: string, peer: string, goals: Goals): Finding => ({
    kind: 'ratio',
    label: `${LABEL} ${ours}, ${counted}`,
    unit: '/s',
    peerName: peer,
    ours: rates(ours),
    peer: rates(peer),
    ...goalOf(goals, clients),
  })
  return [
    against(OURS.leader, PEERS.postgres, POSTGRES_GOALS),
    against(OURS.leader, PEERS.etcd, ETCD_GOALS),
    against(OURS.spread, PEERS.postgres, {}),
    against(OURS.spread, PEERS.etcd, {}),
    {
      kind: 'ratio',
      label: `processor time of a write, all processes, ${counted}`,
      unit: 'µs',
      peerName: PEERS.postgres,
      ours: costs(OURS.leader),
      peer: costs(PEERS.postgres),
    },
    {
      kind: 'ratio',
      label: `processor time of a write, all processes, ${counted}`,
      unit: 'µs',
      peerName: PEERS.etcd,
      ours: costs(OURS.leader),
      peer: costs(PEERS.etcd),
    },
    {
      kind: 'ratio',
      label: `p50 of a write, ${counted}`,
      unit: 'ms',
      peerName: OURS.single,
      ours: middles(OURS.leader),
      peer: middles(OURS.single),
      ...goalOf(SINGLE_GOALS, clients),
    },
  ]
}

function goalOf(goals: Goals, clients: number): { readonly goal?: Goal } {
  const goal = goals[clients]
  return goal === undefined ? {} : { goal }
}
