// Row `building`: searches for vectors through a server, alone, while rows get their graph, and while others are written.

import { latencyOf, perSecond } from '../documents/comparison.ts'
import { startQuarry } from '../documents/quarry-server.ts'
import { LoadGenerator } from '../load/load-generator.ts'
import type { Bodies, LoadEnd, LoadResult } from '../load/load-job.ts'
import type { Finding, RowResult } from '../report/finding.ts'
import { leastEffort, search, timesOf, type HttpOptions } from './http-vectors.ts'
import { DOCUMENTS_PER_BATCH, ServedVectors } from './served-vectors.ts'

/** The inserts begin before the searches count and end after them. */
const MARGIN_MS = 300
/** More than a run can insert. */
const INSERTED = 20_000
/** Rows that get their graph for some seconds, and how many of them are written in a second at a steady rate. */
const BUILT = 8000
const STEADY_PER_S = 1000
const STEADY_BATCH = 50

/** How searches are disturbed, in the order of the measurements; each has its goal. */
const CASES = [
  { name: 'while rows get their graph', goal: { kind: 'at-most', value: 1.5 } },
  {
    name: `while ${STEADY_PER_S} vectors a second are written`,
    goal: { kind: 'at-most', value: 1.5 },
  },
  { name: 'while another client writes as fast as it can', goal: undefined },
] as const
type Case = (typeof CASES)[number]

/** Each run measures searches alone first, and then each case. */
export async function searchesWhileBuilding(options: HttpOptions): Promise<RowResult> {
  const { bench, source, judge, efforts } = options
  await using server = await startQuarry(bench, 'vectors-building')
  bench.progress('building: writing')
  const served = await ServedVectors.load({ bench, source, server })
  const plan = served.searches(await leastEffort(served, judge, efforts))
  await using disturbance = new Disturbance(options, served)
  const quiet: LoadResult[] = []
  const busy: LoadResult[][] = CASES.map(() => [])
  for (let run = 0; run < bench.runs; run += 1) {
    await served.settled(disturbance.count)
    bench.progress(`building: run ${run + 1} of ${bench.runs}`)
    quiet.push(await search(bench, served, { clients: 1, plan }))
    for (const [at, { name }] of CASES.entries()) {
      bench.progress(`building: ${name}`)
      await using _ = await disturbance.begin(name)
      busy[at]?.push(await search(bench, served, { clients: 1, plan }))
    }
  }
  return {
    findings: CASES.flatMap((one, at) => findingsOf(one, busy[at] ?? [], quiet)),
    latencies: [
      latencyOf('searches, 1 client', { side: 'alone', clients: 1, results: quiet }),
      ...CASES.map(({ name }, at) => {
        return latencyOf('searches, 1 client', { side: name, clients: 1, results: busy[at] ?? [] })
      }),
    ],
    notes: disturbance.notes(),
  }
}

function findingsOf(
  { name, goal }: Case,
  busy: readonly LoadResult[],
  quiet: readonly LoadResult[],
): readonly Finding[] {
  const ratio = { kind: 'ratio', unit: 'ms', peerName: 'alone' } as const
  return [
    {
      ...ratio,
      label: `p50 ${name}`,
      ours: busy.map(({ p50Ms }) => p50Ms),
      peer: quiet.map(({ p50Ms }) => p50Ms),
      ...(goal === undefined ? {} : { goal }),
    },
    {
      ...ratio,
      label: `p99 ${name}`,
      ours: busy.map(({ p99Ms }) => p99Ms),
      peer: quiet.map(({ p99Ms }) => p99Ms),
    },
  ]
}

/** What happens beside searches. */
class Disturbance implements AsyncDisposable {
  readonly #with: HttpOptions
  readonly #served: ServedVectors
  readonly #inserter = new LoadGenerator()
  readonly #rates: Record<'steady' | 'fast', number[]> = { steady: [], fast: [] }
  #begun = 0
  /** The documents of the table. */
  count: number

  constructor(options: HttpOptions, served: ServedVectors) {
    this.#with = options
    this.#served = served
    this.count = options.source.count
  }

  /** It is under way when this resolves, and over when it is disposed. */
  async begin(name: Case['name']): Promise<AsyncDisposable> {
    this.#begun += 1
    if (name === CASES[0].name) return this.#build()
    return name === CASES[1].name ? this.#writeSteadily() : this.#writeFast()
  }

  notes(): readonly string[] {
    const { steady, fast } = this.#rates
    return [`vectors a second: ${meanOf(steady)} steadily, ${meanOf(fast)} as fast as it can`]
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#inserter[Symbol.asyncDispose]()
  }

  /** All rows are in the index, and the last ones have no graph. */
  async #build(): Promise<AsyncDisposable> {
    await this.#insert(BUILT, { kind: 'end-of-plan' })
    await this.#served.indexed(this.count)
    return { [Symbol.asyncDispose]: async () => undefined }
  }

  #writeSteadily(): AsyncDisposable {
    const { clock } = this.#with.bench
    const beganMs = clock.monotonicMs()
    const elapsedMs = (): number => clock.monotonicMs() - beganMs
    const { path, bodies } = this.#inserts(INSERTED, STEADY_BATCH)
    let [isOver, written] = [false, 0]
    const writing = (async () => {
      for (const body of bodies) {
        if (isOver) return
        await this.#served.write(path, body)
        written += STEADY_BATCH
        await clock.sleep(Math.max(0, (written / STEADY_PER_S) * 1000 - elapsedMs()))
      }
    })()
    return {
      [Symbol.asyncDispose]: async () => {
        isOver = true
        await writing
        this.count += written
        this.#rates.steady.push((written / elapsedMs()) * 1000)
      },
    }
  }

  #writeFast(): AsyncDisposable {
    const { warmupMs, ms } = timesOf(this.#with.bench)
    const until = { kind: 'time', warmupMs: 0, ms: warmupMs + ms + MARGIN_MS } as const
    const inserting = this.#insert(INSERTED, until)
    return {
      [Symbol.asyncDispose]: async () => {
        const result = await inserting
        this.#rates.fast.push(perSecond(result) * DOCUMENTS_PER_BATCH)
      },
    }
  }

  async #insert(count: number, until: LoadEnd): Promise<LoadResult> {
    const result = await this.#inserter.load({
      origin: this.#served.origin,
      clients: 1,
      plan: this.#inserts(count, DOCUMENTS_PER_BATCH),
      until,
    })
    this.count += result.answered * DOCUMENTS_PER_BATCH
    return result
  }

  #inserts(count: number, perBatch: number): Bodies {
    const first = this.#begun * INSERTED
    return this.#served.inserts({ first, count, perBatch, name: `again-${this.#begun}` })
  }
}

function meanOf(values: readonly number[]): string {
  return (values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(0)
}
