// Our engine alone, quickly: `node bench/text/engine-bench.ts [documents] [class] [--profile]`.
//
// `class` is a part of the names of the query classes to run, such as "OR:"; default is all of them.
// `--profile` says where the time of the searches went, without that of loading.

import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../../lib/clock.ts'
import { summariseProfile } from '../report/profile-summary.ts'
import { percentile } from '../report/statistics.ts'
import { buildArticleSource } from '../data/article-source.ts'
import { CpuProfile } from './cpu-profile.ts'
import { measureSearches } from './measure-searches.ts'
import { QuarryEngine } from './quarry-engine.ts'
import { drawQueries, QUERY_CLASSES } from '../data/query-classes.ts'

const QUERIES = 300
const PROFILE_ENTRIES_MAX = 40
const SEED = 1

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { profile: { type: 'boolean', default: false } },
})
const [documentsText = '200000', classText = ''] = positionals
const documents = Number(documentsText)
const directory = mkdtempSync(path.join(tmpdir(), 'quarry-engine-'))
try {
  await run()
} finally {
  rmSync(directory, { recursive: true, force: true })
}

async function run(): Promise<void> {
  const articles = buildArticleSource(SEED)
  using engine = new QuarryEngine(articles, path.join(directory, 'index'))
  engine.load(documents)
  const { bytesOnDisk, bytesInMemory, segments } = engine.stats()
  print(
    `ingest ${Math.round((documents / engine.indexingMs) * 1000)} documents/s in process, merges included; ` +
      `${segments} segments, ${(bytesOnDisk / 2 ** 20).toFixed(1)} MiB on disk, ` +
      `${(bytesInMemory / 2 ** 20).toFixed(1)} MiB in memory`,
  )
  const profile = values.profile ? await CpuProfile.start() : undefined
  print(`${'ms'.padEnd(40)}     mean      p50      p95      p99`)
  for (const queryClass of QUERY_CLASSES) {
    if (!queryClass.name.includes(classText)) continue
    const measure = (seed: number): readonly number[] => {
      const queries = drawQueries(articles, queryClass, { seed, documents, count: QUERIES })
      return measureSearches(engine, { queries, bounds: undefined }, systemClock)
    }
    measure(SEED) // warm-up
    print(queryClass.name.padEnd(40) + figuresOf(measure(SEED + 1)))
  }
  await profile?.stop(directory)
  if (profile !== undefined) printProfile()
}

function figuresOf(latenciesMs: readonly number[]): string {
  const sorted = Float64Array.from(latenciesMs).toSorted()
  const mean = latenciesMs.reduce((sum, ms) => sum + ms, 0) / latenciesMs.length
  const figures = [mean, ...[0.5, 0.95, 0.99].map((fraction) => percentile(sorted, fraction))]
  return figures.map((ms) => ms.toFixed(3).padStart(9)).join('')
}

function printProfile(): void {
  const file = readdirSync(directory).find((name) => name.endsWith('.cpuprofile')) ?? ''
  const text = readFileSync(path.join(directory, file), 'utf8')
  print('\nself time of the searches:')
  for (const { place, share } of summariseProfile(JSON.parse(text), PROFILE_ENTRIES_MAX)) {
    print(`${(share * 100).toFixed(1).padStart(5)} %  ${place}`)
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
