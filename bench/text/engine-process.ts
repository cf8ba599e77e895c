// One engine in a process of its own, so that heaps and caches do not disturb each other.
//
//   node bench/text/engine-process.ts <engine> <directory> <documents> <seed> [<profile directory>]
//
// Says `ready` when the articles are loaded; then jobs come in as messages, one at a time.

import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { must, unreachable } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { Fts5Engine } from '../peers/fts5-engine.ts'
import { MiniSearchEngine } from '../peers/minisearch-engine.ts'
import { CpuProfile } from './cpu-profile.ts'
import { buildArticleSource } from '../data/article-source.ts'
import type { EngineAnswer, EngineJob } from './engine-job.ts'
import { QuarryEngine } from './quarry-engine.ts'
import { measureSearches } from './measure-searches.ts'
import { ENGINES } from '../peers/text-engine.ts'
import type { EngineName, TextEngine } from '../peers/text-engine.ts'

const [, , name, directory, documents, seed, profileDirectory] = process.argv

const engine = openEngine(
  must(
    ENGINES.find((one) => one === name),
    'engine',
  ),
  must(directory, 'directory'),
)
const startMs = systemClock.monotonicMs()
engine.load(Number(documents))
const loadMs = systemClock.monotonicMs() - startMs
const profile = profileDirectory === undefined ? undefined : await CpuProfile.start()

process.on('message', (job: EngineJob) => send(answerOf(job)))
process.on('disconnect', () => void finish())
send({ kind: 'ready', loadMs })

function openEngine(engineName: EngineName, folder: string): TextEngine {
  const articles = buildArticleSource(Number(seed))
  mkdirSync(folder, { recursive: true })
  switch (engineName) {
    case 'quarry':
      return new QuarryEngine(articles, path.join(folder, 'index'))
    case 'FTS5':
      return new Fts5Engine(articles, path.join(folder, 'articles.db'), 'searches')
    case 'MiniSearch':
      return new MiniSearchEngine(articles)
    default:
      return unreachable(engineName)
  }
}

function answerOf(job: EngineJob): EngineAnswer {
  try {
    return job.kind === 'measure'
      ? { kind: 'latencies', latenciesMs: measureSearches(engine, job, systemClock) }
      : { kind: 'answers', answers: job.queries.map((query) => engine.answer(query)) }
  } catch (error) {
    return { kind: 'failure', message: error instanceof Error ? `${error.stack}` : String(error) }
  }
}

function send(answer: EngineAnswer): void {
  process.send?.(answer)
}

async function finish(): Promise<void> {
  if (profile !== undefined) await profile.stop(must(profileDirectory, 'profile directory'))
  engine[Symbol.dispose]()
  process.exit()
}
