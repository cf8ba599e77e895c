// Documents per second from their first write until searches by meaning find them all, with the shipped model.

import { buildArticleSource } from '../data/article-source.ts'
import { startQuarry } from '../documents/quarry-server.ts'
import type { InferenceWorld } from '../inference/inference-server.ts'
import type { RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { ManagedTable } from './managed-table.ts'

const DOCUMENTS = 50_000
const DOCUMENTS_QUICK = 10_000
const EMBEDDER = { provider: 'quarry', model: 'quarry-static-en' }
/** Three times what the first release did with a model of its own. */
const GOAL = { kind: 'at-least', value: 5400 } as const

export async function enrichedIngest(bench: Bench, world: InferenceWorld): Promise<RowResult> {
  const { clock } = bench
  const count = bench.documents ?? (bench.quick ? DOCUMENTS_QUICK : DOCUMENTS)
  const source = buildArticleSource(bench.seed)
  await using inference = await world.start()
  await using server = await startQuarry(bench, 'enriched')
  const ours: number[] = []
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`enriched ingest: run ${run + 1} of ${bench.runs}`)
    // Other documents in each run: no cache has their vectors.
    const documents = Array.from({ length: count }, (_, at) => source.documentAt(run * count + at))
    const table = await ManagedTable.create(server, `enriched${run}`, clock)
    await table.addIndex({ field: 'body', embedder: { ...EMBEDDER, url: inference.api } })
    const bodies = table.bodiesOf(documents)
    const startMs = clock.monotonicMs()
    await table.send(bodies)
    await table.found(count)
    ours.push((count / (clock.monotonicMs() - startMs)) * 1000)
    await table.drop()
  }
  const label = `${count} articles, written, embedded, and found by meaning and by words`
  return { findings: [{ kind: 'value', label, unit: 'docs/s', ours, goal: GOAL }] }
}
