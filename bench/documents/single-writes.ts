import type { RowResult } from '../report/finding.ts'
import type { InsertTarget, RequestPlan } from '../load/load-job.ts'
import type { Bench } from '../suite.ts'
import { compare } from './comparison.ts'
import { startPeer } from './peer.ts'
import { batchPath, createTable, startQuarry } from './quarry-server.ts'

/** More than any run can write, so that two runs never share a key. */
const KEYS_PER_RUN = 1_000_000

export async function singleWrites(bench: Bench): Promise<RowResult> {
  await using server = await startQuarry(bench, 'writes')
  await using peer = await startPeer(bench, { name: 'writes-peer', documents: 0 })
  await createTable(server, 'writes')
  const plans = insertPlans(bench.seed, 0)
  const peerPlans = insertPlans(bench.seed, 0)
  return await compare(bench, {
    label: 'durable single-document writes',
    goals: new Map([
      [64, { kind: 'at-least', value: 1 }],
      [128, { kind: 'at-least', value: 0.9 }],
    ]),
    ours: {
      name: 'quarry',
      origin: server.origin,
      pid: server.process.pid,
      nextPlan: () => plans({ kind: 'batch', path: batchPath('writes') }),
    },
    peer: {
      name: peer.name,
      origin: peer.origin,
      pid: peer.pid,
      nextPlan: () => peerPlans(peer.insertTarget),
    },
  })
}

/** Each plan writes keys that no plan before it wrote. */
export function insertPlans(
  seed: number,
  firstDocument: number,
): (target: InsertTarget) => RequestPlan {
  let next = firstDocument
  return (target) => {
    const plan = { kind: 'insert-each', target, seed, firstDocument: next } as const
    next += KEYS_PER_RUN
    return plan
  }
}
