import type { RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { compare } from './comparison.ts'
import { loadTable } from './load-table.ts'
import { startPeer } from './peer.ts'
import { createTable, lookupPath, startQuarry } from './quarry-server.ts'

const DOCUMENTS = 100_000

export async function keyLookups(bench: Bench): Promise<RowResult> {
  const documents = bench.quick ? DOCUMENTS / 10 : DOCUMENTS
  await using server = await startQuarry(bench, 'lookups')
  await using peer = await startPeer(bench, { name: 'lookups-peer', documents })
  await createTable(server, 'lookups')
  await loadTable(bench, server, { table: 'lookups', shape: 'kilobyte', documents })
  const plan = (run: number) => ({ kind: 'lookups', seed: bench.seed + run, documents }) as const
  return await compare(bench, {
    label: 'key lookups',
    goals: new Map([[64, { kind: 'at-least', value: 0.7 }]]),
    ours: {
      name: 'quarry',
      origin: server.origin,
      pid: server.process.pid,
      nextPlan: (run) => ({ ...plan(run), path: lookupPath('lookups') }),
    },
    peer: {
      name: peer.name,
      origin: peer.origin,
      pid: peer.pid,
      nextPlan: (run) => ({ ...plan(run), path: peer.lookupPath }),
    },
  })
}
