// How busy a backfill keeps the inference server: documents per second, against the texts per second that the same
// server embeds for a client that does nothing else.

import { MODELS_HERE, startQuarry } from '../documents/quarry-server.ts'
import { EmbedClient, embedBody } from '../inference/embed-client.ts'
import { BENCH_MODELS, mixedLengths, textOf } from '../inference/embedding-models.ts'
import type { InferenceWorld } from '../inference/inference-server.ts'
import { cut } from '../inference/throughput.ts'
import type { RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { ManagedTable } from './managed-table.ts'

const TEXTS_PER_REQUEST = 256
const CONCURRENCY = 4
const MODEL = BENCH_MODELS.i8
const DOCUMENTS = 2048
const DOCUMENTS_QUICK = 512
const GOAL = { kind: 'at-least', value: 0.9 } as const

export async function backfill(bench: Bench, world: InferenceWorld): Promise<RowResult> {
  const { clock, random } = { clock: bench.clock, random: world.random }
  const count = bench.documents ?? (bench.quick ? DOCUMENTS_QUICK : DOCUMENTS)
  // No two texts are equal, so that no cache has an answer.
  const texts = (): readonly string[] =>
    mixedLengths(count, random).map((tokens) => textOf(tokens, random))
  await using inference = await world.start()
  await using server = await startQuarry(bench, 'backfill', MODELS_HERE)
  using client = new EmbedClient(inference.api, clock)
  await client.embed(embedBody(MODEL, ['load the model']))
  const [ours, peer]: [number[], number[]] = [[], []]
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`backfill: run ${run + 1} of ${bench.runs}`)
    const table = await ManagedTable.create(server, `backfill${run}`, clock)
    await table.write(texts().map((text) => JSON.stringify({ text })))
    const startMs = clock.monotonicMs()
    await table.addIndex({
      field: 'text',
      embedder: { provider: 'quarry', model: MODEL, url: inference.api },
    })
    await table.found(count)
    ours.push((count / (clock.monotonicMs() - startMs)) * 1000)
    await table.drop()
    const bodies = cut(texts(), TEXTS_PER_REQUEST).map((input) => embedBody(MODEL, input))
    peer.push((count / (await client.embedAll(bodies, CONCURRENCY))) * 1000)
  }
  const label = `backfill of ${count} documents, a model of sentences`
  const peerName = 'the inference server alone'
  const finding = {
    kind: 'ratio',
    label,
    unit: 'docs/s',
    peerName,
    ours,
    peer,
    goal: GOAL,
  } as const
  return { findings: [finding] }
}
