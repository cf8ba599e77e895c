// How long small requests wait while the server is as busy as it can be.

import type { LatencyFinding, RowResult, ValueFinding } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { EmbedClient, GetClient, embedBody, repeat } from './embed-client.ts'
import type { Latencies } from './embed-client.ts'
import { BENCH_MODELS, mixedLengths, textOf } from './embedding-models.ts'
import type { BenchModelName } from './embedding-models.ts'
import type { InferenceServer, InferenceWorld } from './inference-server.ts'

const LOAD_TEXTS_PER_REQUEST = 32
const LOAD_CONCURRENCY = 4
const LOAD_REQUESTS = 24
const LOAD_REQUESTS_QUICK = 4
const LARGE_REQUEST_TEXTS = 2048
const LARGE_REQUEST_TEXTS_QUICK = 256
const QUERY_TOKENS = 16
const IDLE_QUERIES = 200
const PAUSE_MS = 10

const HEALTH_GOAL = { kind: 'below', value: 20 } as const
const QUERY_GOAL = { kind: 'below', value: 250 } as const

export async function healthUnderLoad(bench: Bench, world: InferenceWorld): Promise<RowResult> {
  await using server = await world.start()
  using client = new EmbedClient(server.api, bench.clock)
  const model = BENCH_MODELS.f32
  await client.embed(bodyOf(model, [QUERY_TOKENS], world))
  const findings: ValueFinding[] = []
  const places = { 'health port': server.health, 'API port': server.api }
  for (const [place, origin] of Object.entries(places)) {
    using health = new GetClient(new URL('/healthz', origin).href, bench.clock)
    const ours: number[] = []
    for (let run = 0; run < bench.runs; run += 1) {
      bench.progress(`/healthz on the ${place}: run ${run + 1} of ${bench.runs}`)
      const count = bench.quick ? LOAD_REQUESTS_QUICK : LOAD_REQUESTS
      const bodies = Array.from({ length: count }, () =>
        bodyOf(model, mixedLengths(LOAD_TEXTS_PER_REQUEST, world.random), world),
      )
      const work = client.embedAll(bodies, LOAD_CONCURRENCY)
      ours.push((await besides(bench, work, () => health.get())).p99Ms)
    }
    const label = `/healthz on the ${place} under full load, p99`
    findings.push({ kind: 'value', label, unit: 'ms', ours, goal: HEALTH_GOAL })
  }
  return { findings }
}

export async function shortQueries(bench: Bench, world: InferenceWorld): Promise<RowResult> {
  await using server = await world.start()
  const findings: ValueFinding[] = []
  const latencies: LatencyFinding[] = []
  for (const model of Object.values(BENCH_MODELS)) {
    const { idle, busy } = await queriesOf(model, { bench, world, server })
    const texts = largeRequestTexts(bench)
    const label = `${model}, query of ${QUERY_TOKENS} tokens`
    latencies.push(
      { label: `${label}, idle`, side: 'quarry', clients: 1, ...idle },
      {
        label: `${label}, beside ${texts} texts`,
        side: 'quarry',
        clients: 1,
        ...busy,
      },
    )
    findings.push({
      kind: 'value',
      label: `${label}, beside a request of ${texts} texts, p99`,
      unit: 'ms',
      ours: busy.p99Ms,
      goal: QUERY_GOAL,
    })
  }
  return { findings, latencies }
}

interface Runs {
  readonly p50Ms: number[]
  readonly p95Ms: number[]
  readonly p99Ms: number[]
}

async function queriesOf(
  model: BenchModelName,
  {
    bench,
    world,
    server,
  }: { readonly bench: Bench; readonly world: InferenceWorld; readonly server: InferenceServer },
): Promise<{ readonly idle: Runs; readonly busy: Runs }> {
  using client = new EmbedClient(server.api, bench.clock)
  const query = (): Promise<number> => client.embed(bodyOf(model, [QUERY_TOKENS], world))
  await query() // loads the model
  const [idle, busy]: Runs[] = [emptyRuns(), emptyRuns()]
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`${model}, short queries: run ${run + 1} of ${bench.runs}`)
    const isOver = (queries: number): boolean => queries === IDLE_QUERIES
    addRun(idle, await repeat(query, { clock: bench.clock, pauseMs: 0, isOver }))
    const lengths = mixedLengths(largeRequestTexts(bench), world.random)
    const large = client.embed(bodyOf(model, lengths, world))
    addRun(busy, await besides(bench, large, query))
  }
  return { idle: idle ?? emptyRuns(), busy: busy ?? emptyRuns() }
}

function largeRequestTexts({ quick }: Bench): number {
  return quick ? LARGE_REQUEST_TEXTS_QUICK : LARGE_REQUEST_TEXTS
}

/** Repeats what is measured for as long as the work lasts. */
async function besides(
  { clock }: Bench,
  work: Promise<unknown>,
  measure: () => Promise<number>,
): Promise<Latencies> {
  let isDone = false
  const watched = work.finally(() => {
    isDone = true
  })
  watched.catch(() => undefined) // reported below, after the repetition has ended
  const latencies = await repeat(measure, { clock, pauseMs: PAUSE_MS, isOver: () => isDone })
  await watched
  return latencies
}

function bodyOf(
  model: BenchModelName,
  lengths: readonly number[],
  { random }: InferenceWorld,
): Buffer {
  return embedBody(
    model,
    lengths.map((tokens) => textOf(tokens, random)),
  )
}

function emptyRuns(): Runs {
  return { p50Ms: [], p95Ms: [], p99Ms: [] }
}

function addRun(runs: Runs | undefined, { p50Ms, p95Ms, p99Ms }: Latencies): void {
  runs?.p50Ms.push(p50Ms)
  runs?.p95Ms.push(p95Ms)
  runs?.p99Ms.push(p99Ms)
}
