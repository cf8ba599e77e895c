// Five nodes and three members of etcd under faults, by chance, for a time or for a number of kills:
//
//   npm run test:faults -- --minutes 30 [--only F4,F6b] [--seed N] [--round-seconds 30]
//   npm run test:kills -- --count 1000
//
// The history of all clients, the faults and what was found lie in the file that the first line names.

import { createWriteStream } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../../lib/clock.ts'
import { ClusterLab } from '../support/cluster-lab/cluster-lab.ts'
import { LabRun, type Round } from '../support/cluster-lab/lab-run.ts'
import { SCENARIOS } from '../support/cluster-lab/scenarios/all-scenarios.ts'
import { tableOf } from '../support/cluster-lab/summary.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    count: { type: 'string' },
    only: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    nodes: { type: 'string', default: '5' },
    'round-seconds': { type: 'string', default: '30' },
    workloads: { type: 'string' },
    out: { type: 'string' },
  },
})

const seed = Number(values.seed)
const killsWanted = Number(values.count ?? Infinity)
const only = values.only?.split(',')
const chosen = SCENARIOS.filter(({ id }) => only === undefined || only.includes(id))
if (chosen.length === 0) throw new Error(`--only knows ${SCENARIOS.map(({ id }) => id).join(', ')}`)

const file = values.out ?? path.join(tmpdir(), `quarry-faults-${seed}.jsonl`)
const output = createWriteStream(file, { flags: 'a' })
const beganMs = systemClock.monotonicMs()

function record(event: object): void {
  const atMs = Math.round(systemClock.monotonicMs() - beganMs)
  output.write(`${JSON.stringify({ atMs, ...event }, bigintAsText)}\n`)
  if ('event' in event && event.event === 'note' && 'text' in event) {
    process.stdout.write(`  ${(atMs / 1000).toFixed(0)} s ${String(event.text)}\n`)
  }
}

function bigintAsText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

process.stdout.write(`--seed ${seed}; the history is in ${file}\n`)
const rounds: Round[] = []
{
  await using lab = await ClusterLab.open({ etcds: 3, nodes: Number(values.nodes), seed })
  const workloads = values.workloads?.split(',')
  const run = new LabRun({
    lab,
    lastsMs: Number(values['round-seconds']) * 1000,
    record,
    ...(workloads === undefined ? {} : { workloads }),
  })
  const endMs = systemClock.monotonicMs() + Number(values.minutes ?? 600) * 60_000
  let queue: readonly (typeof chosen)[number][] = []
  while (systemClock.monotonicMs() < endMs && lab.kills < killsWanted) {
    if (queue.length === 0) queue = lab.some(chosen, chosen.length)
    const [scenario, ...rest] = queue
    queue = rest
    if (scenario === undefined) break
    process.stdout.write(`${scenario.id} ${scenario.title}\n`)
    const round = await run.round(scenario)
    rounds.push(round)
    for (const { rule, description } of round.violations.slice(0, 10)) {
      process.stdout.write(`  FOUND ${rule}: ${description.slice(0, 2000)}\n`)
    }
    process.stdout.write(`  ${lab.kills} kills so far\n`)
    if (round.violations.length === 0) continue
    for (const node of lab.nodes) record({ event: 'log', node: node.name, log: node.log })
    break
  }
}
output.end()
process.stdout.write(tableOf(rounds))
process.exitCode = rounds.every(({ violations }) => violations.length === 0) ? 0 : 1
