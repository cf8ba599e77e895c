// A node that led a third of many shards is killed: how long until another node is named for each of them.

import type { RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { startCluster } from './quarry-cluster.ts'
import type { QuarryCluster } from './quarry-cluster.ts'

const TABLES = ['left', 'right']
const SHARDS_PER_TABLE = 500
/** The lease of a node, and what the elections may take. */
const LED_MS_MAX = 12_000
const POLL_MS = 50

export async function lostNode(bench: Bench): Promise<RowResult> {
  const { clock, quick } = bench
  await using cluster = await startCluster(bench, 'lost-node')
  const shards = quick ? SHARDS_PER_TABLE / 10 : SHARDS_PER_TABLE
  for (const table of TABLES) {
    bench.progress(`lost-node: table ${table}`)
    await cluster.createTable(table, { num_shards: shards })
  }
  const victim = await cluster.leaderOf('left')
  const id = await victim.id()
  const led = await countLed(cluster, id)
  bench.progress(`lost-node: a node that leads ${led} shards is killed`)
  const killedMs = clock.monotonicMs()
  await victim.kill()
  while ((await countLed(cluster, id)) > 0) await clock.sleep(POLL_MS)
  return {
    findings: [
      {
        kind: 'value',
        label: `node with ${TABLES.length * shards} shards killed: until each has another leader`,
        unit: 'ms',
        ours: [clock.monotonicMs() - killedMs],
        goal: { kind: 'at-most', value: LED_MS_MAX },
      },
    ],
    notes: [`node killed: it led ${led} shards`],
  }
}

async function countLed(cluster: QuarryCluster, id: string): Promise<number> {
  const all = await Promise.all(TABLES.map((table) => cluster.shards(table)))
  return all.flat().filter(({ leader }) => leader === undefined || leader === id).length
}
