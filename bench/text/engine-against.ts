// Our engine beside that of another checkout of this repository, in one process and in turns:
//
//   node bench/text/engine-against.ts <checkout> [documents] [class]... [--rounds 7] [--ingest]
//
// `class` is a part of the names of the query classes to run, and there may be several; default is all
// of them. `--ingest` measures indexing in their place. Both engines get the same articles and the same
// queries, and of each the thread's time on the processor is measured: other programs of the machine
// disturb it least.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { must } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { spreadOf } from '../report/statistics.ts'
import { buildArticleSource } from '../data/article-source.ts'
import type { ArticleSource } from '../data/article-source.ts'
import { drawQueries, QUERY_CLASSES } from '../data/query-classes.ts'
import type { QueryClass, TextQuery } from '../data/query-classes.ts'
import type { QuarryEngine } from './quarry-engine.ts'

interface EngineModule {
  readonly QuarryEngine: typeof QuarryEngine
}

/** What an engine took for its part of a round. */
interface Cost {
  readonly cpuMs: number
  readonly wallMs: number
}

const SEED = 1
const TURN_MS = 20
const TURNS_PER_ROUND = 20
const QUERIES_MIN = 40
const QUERIES_MAX = 6000
const QUERIES_TRIED = 200
/** The documents of the index that each round builds again. */
const INGESTED_DOCUMENTS = 20_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '7' },
    ingest: { type: 'boolean', default: false },
  },
})
const [checkout, documentsText = '200000', ...classTexts] = positionals
const documents = Number(documentsText)
const rounds = Number(values.rounds)
const directory = mkdtempSync(path.join(tmpdir(), 'quarry-against-'))
try {
  await run()
} finally {
  rmSync(directory, { recursive: true, force: true })
}

async function run(): Promise<void> {
  const other = path.resolve(must(checkout, 'the other checkout'), 'bench/text/quarry-engine.ts')
  const modules: readonly EngineModule[] = [await import(other), await import('./quarry-engine.ts')]
  const articles = withMadeDocuments(buildArticleSource(SEED), documents)
  print(
    `${'CPU time in µs'.padEnd(40)}   other     ours   ${'CPU ratio, min to max'.padEnd(22)}   wall ratio`,
  )
  if (values.ingest) return compareIngest(modules, articles)
  const engines = modules.map((module, side) => {
    const engine = new module.QuarryEngine(articles, path.join(directory, `searched-${side}`))
    engine.load(documents)
    return engine
  })
  for (const queryClass of QUERY_CLASSES) {
    if (isChosen(queryClass)) compareSearches(engines, articles, queryClass)
  }
  for (const engine of engines) engine[Symbol.dispose]()
}

function isChosen({ name }: QueryClass): boolean {
  return classTexts.length === 0 || classTexts.some((text) => name.includes(text))
}

/** The making of documents would be measured with their indexing. */
function withMadeDocuments(articles: ArticleSource, count: number): ArticleSource {
  const made = Array.from({ length: count }, (_, i) => articles.documentAt(i))
  return { ...articles, documentAt: (index) => must(made[index], 'document') }
}

function compareIngest(modules: readonly EngineModule[], articles: ArticleSource): void {
  const count = Math.min(documents, INGESTED_DOCUMENTS)
  const load = (module: EngineModule, name: string): Cost => {
    const folder = path.join(directory, name)
    try {
      using engine = new module.QuarryEngine(articles, folder)
      return measured(() => engine.load(count))
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
  for (const [side, module] of modules.entries()) load(module, `warm-up-${side}`)
  const costs = Array.from({ length: rounds }, (_, round) => {
    return modules.map((module, side) => load(module, `ingested-${side}-${round}`))
  })
  printRow('ingest, flush and merge, per document', costs, count)
}

function compareSearches(
  engines: readonly QuarryEngine[],
  articles: ArticleSource,
  queryClass: QueryClass,
): void {
  const queriesOf = (seed: number, count: number) => {
    return drawQueries(articles, queryClass, { seed, documents, count })
  }
  const tried = queriesOf(SEED, QUERIES_TRIED)
  const triedMs = engines.map((engine) => ask(engine, tried).wallMs) // warm-up
  const perTurn = Math.ceil((TURN_MS / Math.min(...triedMs)) * QUERIES_TRIED)
  const perRound = Math.max(QUERIES_MIN, Math.min(perTurn * TURNS_PER_ROUND, QUERIES_MAX))
  inTurns(engines, queriesOf(SEED + 1, perRound), perTurn) // the rest of the warm-up
  const costs = Array.from({ length: rounds }, (_, round) => {
    return inTurns(engines, queriesOf(SEED + 2 + round, perRound), perTurn)
  })
  printRow(queryClass.name, costs, perRound)
}

/** Turns are short, so that what disturbs the machine disturbs both alike. */
function inTurns(
  engines: readonly QuarryEngine[],
  queries: readonly TextQuery[],
  perTurn: number,
): readonly Cost[] {
  const costs = engines.map(() => ({ cpuMs: 0, wallMs: 0 }))
  for (let from = 0; from < queries.length; from += perTurn) {
    const isEven = (from / perTurn) % 2 === 0
    for (const side of isEven ? [0, 1] : [1, 0]) {
      const cost = must(costs[side], 'cost')
      const { cpuMs, wallMs } = ask(
        must(engines[side], 'engine'),
        queries.slice(from, from + perTurn),
      )
      cost.cpuMs += cpuMs
      cost.wallMs += wallMs
    }
  }
  return costs
}

function ask(engine: QuarryEngine, queries: readonly TextQuery[]): Cost {
  const searches = queries.map((query) => engine.prepare(query))
  return measured(() => {
    for (const search of searches) search()
  })
}

function measured(work: () => void): Cost {
  const cpu = process.threadCpuUsage()
  const startMs = systemClock.monotonicMs()
  work()
  const wallMs = systemClock.monotonicMs() - startMs
  const { user, system } = process.threadCpuUsage(cpu)
  return { cpuMs: (user + system) / 1000, wallMs }
}

function printRow(name: string, costs: readonly (readonly Cost[])[], count: number): void {
  const usOf = (side: number): string => {
    const each = costs.map((round) => must(round[side], 'cost').cpuMs)
    return ((spreadOf(each).median / count) * 1000).toFixed(1).padStart(9)
  }
  const ratiosOf = (part: keyof Cost) => {
    const each = costs.map(([other, ours]) => must(ours, 'cost')[part] / must(other, 'cost')[part])
    const { median, min, max } = spreadOf(each)
    return `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`.padEnd(22)
  }
  print(`${name.padEnd(40)}${usOf(0)}${usOf(1)}   ${ratiosOf('cpuMs')}   ${ratiosOf('wallMs')}`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
