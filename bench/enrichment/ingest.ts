// Documents per second from their first write until searches by meaning and by words find them all, with the shipped
// model.

import { buildArticleSource } from '../data/article-source.ts'
import { buildSentenceSource } from '../data/sentence-source.ts'
import { MODELS_HERE, startQuarry } from '../documents/quarry-server.ts'
import type { InferenceWorld } from '../inference/inference-server.ts'
import type { RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { ManagedTable } from './managed-table.ts'

const DOCUMENTS = 50_000
const DOCUMENTS_QUICK = 10_000
const EMBEDDER = { provider: 'quarry', model: 'quarry-static-en' }
/** Three times what the first release did with a model of its own. */
const GOAL = { kind: 'at-least', value: 5400 } as const

/** What is written. */
interface Ingested {
  /** Also the name of the tables. */
  readonly what: string
  /** The field that is embedded. */
  readonly field: string
  /** Other documents at each call, so that no cache has their vectors. */
  readonly next: () => string
}

/** Made-up words of 160 to 840 bytes: about 190 tokens. */
export function ingestOfArticles(bench: Bench, world: InferenceWorld): Promise<RowResult> {
  const source = buildArticleSource(bench.seed)
  let written = 0
  const next = (): string => source.documentAt(written++)
  return enrichedIngest(bench, world, { what: 'articles', field: 'body', next })
}

/** Sentences of 8 to 24 English words. */
export function ingestOfSentences(bench: Bench, world: InferenceWorld): Promise<RowResult> {
  const next = buildSentenceSource(bench.seed)
  return enrichedIngest(bench, world, { what: 'sentences', field: 'text', next })
}

async function enrichedIngest(
  bench: Bench,
  world: InferenceWorld,
  { what, field, next }: Ingested,
): Promise<RowResult> {
  const { clock } = bench
  const count = bench.documents ?? (bench.quick ? DOCUMENTS_QUICK : DOCUMENTS)
  await using inference = await world.start()
  await using server = await startQuarry(bench, what, MODELS_HERE)
  const ours: number[] = []
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`${what}: run ${run + 1} of ${bench.runs}`)
    const documents = Array.from({ length: count }, next)
    const table = await ManagedTable.create(server, `${what}${run}`, clock)
    await table.addIndex({ field, embedder: { ...EMBEDDER, url: inference.api } })
    const bodies = table.bodiesOf(documents)
    const startMs = clock.monotonicMs()
    await table.send(bodies)
    await table.found(count)
    ours.push((count / (clock.monotonicMs() - startMs)) * 1000)
    await table.drop()
  }
  const label = `${count} ${what}, written, embedded, and found by meaning and by words`
  return { findings: [{ kind: 'value', label, unit: 'docs/s', ours, goal: GOAL }] }
}
