// The peer of ingest with the index: inserts into SQLite with FTS5, in process, in large transactions.
// Prints how long they took, without the time to make the documents.
//
//   node bench/peers/fts5-inserts.ts <directory> <documents> <seed>

import path from 'node:path'
import { must } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { buildArticleSource } from '../data/article-source.ts'
import { DOCUMENTS_PER_TRANSACTION, Fts5Engine } from './fts5-engine.ts'

const WARMUP_DOCUMENTS = 20_000

const [, , directory, documents, seed] = process.argv
const articles = buildArticleSource(Number(seed))

insertAll('warm-up', WARMUP_DOCUMENTS)
const elapsedMs = insertAll('measured', Number(documents))
process.stdout.write(`${JSON.stringify({ elapsedMs })}\n`)

function insertAll(name: string, count: number): number {
  const file = path.join(must(directory, 'directory'), `${name}.db`)
  using engine = new Fts5Engine(articles, file, 'inserts')
  const all = Array.from({ length: count }, (_, i) => articles.articleAt(i))
  const startMs = systemClock.monotonicMs()
  for (let from = 0; from < count; from += DOCUMENTS_PER_TRANSACTION) {
    engine.insert(from, all.slice(from, from + DOCUMENTS_PER_TRANSACTION))
  }
  return systemClock.monotonicMs() - startMs
}
