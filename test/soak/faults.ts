// Five nodes and three members of etcd under faults, by chance, for a time or for a number of kills:
//
//   npm run test:faults -- --minutes 30 [--only F4,F6b] [--seed N] [--round-seconds 30] [--workloads set,bank]
//   npm run test:kills -- --count 1000
//
// The history of all clients, the faults and what was found lie in the file that the first line names. A round
// that breaks a promise ends its cluster; the next round begins with a new one.

import { createWriteStream } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { must } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { seededRandom } from '../../lib/random.ts'
import { ClusterLab } from '../support/cluster-lab/cluster-lab.ts'
import { LabRun, type Round } from '../support/cluster-lab/lab-run.ts'
import { SCENARIOS } from '../support/cluster-lab/scenarios/all-scenarios.ts'
import type { Scenario } from '../support/cluster-lab/scenarios/scenario.ts'
import { tableOf } from '../support/cluster-lab/summary.ts'

const VIOLATIONS_SHOWN = 10
const SHOWN_CHARACTERS = 2000

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: 'Infinity' },
    count: { type: 'string', default: 'Infinity' },
    only: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    nodes: { type: 'string', default: '5' },
    'round-seconds': { type: 'string', default: '30' },
    'think-ms': { type: 'string', default: '60' },
    workloads: { type: 'string' },
    out: { type: 'string' },
  },
})

const only = values.only?.split(',')
const chosen = SCENARIOS.filter(({ id }) => only === undefined || only.includes(id))
if (chosen.length === 0) throw new Error(`--only knows ${SCENARIOS.map(({ id }) => id).join(', ')}`)
const file = values.out ?? path.join(tmpdir(), `quarry-faults-${values.seed}.jsonl`)
const output = createWriteStream(file, { flags: 'a' })
const beganMs = systemClock.monotonicMs()
const minutesGone = (): number => (systemClock.monotonicMs() - beganMs) / 60_000

function say(line: string): void {
  process.stdout.write(`${minutesGone().toFixed(1)} min ${line}\n`)
}

function record(event: object): void {
  const atMs = Math.round(systemClock.monotonicMs() - beganMs)
  const text = JSON.stringify({ atMs, ...event }, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
  output.write(`${text}\n`)
  if ('event' in event && event.event === 'note' && 'text' in event) say(`  ${String(event.text)}`)
}

/** Each scenario once, in another order each time. */
function* endless(seed: number): Generator<Scenario, never> {
  const random = seededRandom(seed)
  for (;;) {
    const rest = [...chosen]
    while (rest.length > 0) {
      yield must(rest.splice(Math.floor(random() * rest.length), 1)[0], 'a scenario')
    }
  }
}

const rounds: Round[] = []
const scenarios = endless(Number(values.seed))
const killed = (): number => rounds.reduce((sum, { kills }) => sum + kills, 0)
const isOver = (): boolean =>
  minutesGone() >= Number(values.minutes) || killed() >= Number(values.count)

/** Rounds over one cluster, until one breaks a promise. */
async function playOneCluster(seed: number): Promise<void> {
  await using lab = await ClusterLab.open({ etcds: 3, nodes: Number(values.nodes), seed })
  const lastsMs = Number(values['round-seconds']) * 1000
  const names = values.workloads?.split(',')
  const workloads = names === undefined ? {} : { workloads: names }
  const thinkMs = Number(values['think-ms'])
  const run = new LabRun({ lab, lastsMs, thinkMs, record, ...workloads })
  while (!isOver()) {
    const scenario = scenarios.next().value
    say(`${scenario.id} ${scenario.title}`)
    const round = await run.round(scenario)
    rounds.push(round)
    for (const { rule, description } of round.violations.slice(0, VIOLATIONS_SHOWN)) {
      say(`  FOUND ${rule}: ${description.slice(0, SHOWN_CHARACTERS)}`)
    }
    say(`  ${round.acknowledged} acknowledged, ${killed()} kills so far`)
    if (round.violations.length === 0) continue
    for (const node of lab.nodes) record({ event: 'log', node: node.name, log: node.log })
    return
  }
}

process.stdout.write(`--seed ${values.seed}; the history is in ${file}\n`)
for (let seed = Number(values.seed); !isOver(); seed++) await playOneCluster(seed)
output.end()
process.stdout.write(tableOf(rounds))
process.exitCode = rounds.every(({ violations }) => violations.length === 0) ? 0 : 1
