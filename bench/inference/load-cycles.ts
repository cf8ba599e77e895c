// Measures the memory that remains after many loads and unloads of a model.

import type { RowResult } from '../report/finding.ts'
import { settle } from '../process-memory.ts'
import { median } from '../report/statistics.ts'
import type { Bench } from '../suite.ts'
import { EmbedClient, embedBody } from './embed-client.ts'
import { BENCH_MODELS, textOf } from './embedding-models.ts'
import type { InferenceServer, InferenceWorld } from './inference-server.ts'
import { readTreeMemory, treeOf } from '../process-tree.ts'

const CYCLES = 12
/** The first cycles fill allocators and compile code. Growth is counted after them. */
const SETTLED_AFTER_CYCLES = 2
const TEXT_TOKENS = 128
const TEXTS = 32
const SETTLE_TIMEOUT_MS = 5000
const GROWTH_GOAL = { kind: 'below', value: 5 } as const

export async function loadCycles(bench: Bench, world: InferenceWorld): Promise<RowResult> {
  await using server = await world.start()
  const startedWith = await settledMemory(bench, server)
  const [loaded, unloaded]: [number[], number[]] = [[], []]
  using client = new EmbedClient(server.api, bench.clock)
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    bench.progress(`loading and unloading: cycle ${cycle + 1} of ${CYCLES}`)
    await client.embed(bodyOf(world, {}))
    loaded.push(await settledMemory(bench, server))
    await client.embed(bodyOf(world, { keep_alive: 0 }))
    unloaded.push(await settledMemory(bench, server))
  }
  const value = { kind: 'value', unit: 'MiB' } as const
  return {
    findings: [
      { ...value, label: 'memory of all processes, no model loaded yet', ours: [startedWith] },
      { ...value, label: `with ${BENCH_MODELS.f32} loaded`, ours: loaded },
      { ...value, label: 'after unloading', ours: unloaded },
      growthOf('with the model loaded', loaded),
      growthOf('after unloading', unloaded),
    ],
  }
}

/** Compares medians, because the server decides in each cycle whether one or two workers load the model. */
function growthOf(what: string, memory: readonly number[]): RowResult['findings'][number] {
  const settled = memory.slice(SETTLED_AFTER_CYCLES)
  const half = settled.length / 2
  const growth = (median(settled.slice(half)) / median(settled.slice(0, half)) - 1) * 100
  const label = `growth ${what}, last ${half} cycles over the ${half} before`
  return { kind: 'value', label, unit: '%', ours: [growth], goal: GROWTH_GOAL }
}

async function settledMemory({ clock }: Bench, { process }: InferenceServer): Promise<number> {
  for (const pid of await treeOf(process.pid)) await settle(pid, clock, SETTLE_TIMEOUT_MS)
  return readTreeMemory(process.pid)
}

function bodyOf({ random }: InferenceWorld, more: object): Buffer {
  const texts = Array.from({ length: TEXTS }, () => textOf(TEXT_TOKENS, random))
  return embedBody(BENCH_MODELS.f32, texts, more)
}
