// Lookups at the node that leads the shard, and by way of a node that has to ask it; against swarm mode.

import { latencyOf, perSecond } from '../documents/comparison.ts'
import { loadTable } from '../documents/load-table.ts'
import { createTable, lookupPath, startQuarry } from '../documents/quarry-server.ts'
import type { Finding, Goal, LatencyFinding, RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { pidsOf, startCluster } from './quarry-cluster.ts'
import { generatorNotes, runTurns, warmUp } from './turns.ts'
import type { SideResults, TurnSide } from './turns.ts'

const TABLE = 'lookups'
const DOCUMENTS = 50_000
const CLIENTS = [1, 64]
const LABEL = 'key lookups'
const SWARM = 'swarm mode'
const OURS: Readonly<Record<string, Goal>> = {
  'at the leader': { kind: 'at-least', value: 0.9 },
  'through another node': { kind: 'at-least', value: 0.5 },
}
const CLIENTS_OF_GOAL = 64

export async function replicatedLookups(bench: Bench): Promise<RowResult> {
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
  const documents = bench.quick ? DOCUMENTS / 10 : DOCUMENTS
  const load = { table: TABLE, shape: 'kilobyte', documents } as const
  const cluster = stack.use(await startCluster(bench, 'lookups'))
  await cluster.createTable(TABLE, { num_shards: 1 })
  const leader = await cluster.leaderOf(TABLE)
  await loadTable(bench, { origin: leader.origin, process: leader }, load)
  const swarm = stack.use(await startQuarry(bench, 'lookups-swarm'))
  await createTable(swarm, TABLE, { num_shards: 1 })
  await loadTable(bench, swarm, load)
  const [other = leader] = cluster.othersThan(leader)
  const nextPlan: TurnSide['nextPlan'] = (run) => {
    return { kind: 'lookups', path: lookupPath(TABLE), seed: bench.seed + run, documents }
  }
  const [atLeader = '', throughOther = ''] = Object.keys(OURS)
  const pids = pidsOf(cluster, leader)
  return [
    { name: atLeader, origins: [leader.origin], pids, nextPlan },
    { name: throughOther, origins: [other.origin], pids, nextPlan },
    { name: SWARM, origins: [swarm.origin], pids: [swarm.process.pid], nextPlan },
  ]
}

function findingsOf(all: readonly SideResults[], clients: number): readonly Finding[] {
  const rates = (name: string): readonly number[] =>
    all.find(({ side }) => side.name === name)?.results.map(perSecond) ?? []
  return Object.entries(OURS).map(([name, goal]) => ({
    kind: 'ratio',
    label: `${LABEL} ${name}, ${clients} ${clients === 1 ? 'client' : 'clients'}`,
    unit: '/s',
    peerName: SWARM,
    ours: rates(name),
    peer: rates(SWARM),
    ...(clients === CLIENTS_OF_GOAL && { goal }),
  }))
}
