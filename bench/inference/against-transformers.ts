// The same texts with the same graph: over HTTP from our server, and within its own process from
// transformers.js, which a program in JavaScript would otherwise use.

import type { RatioFinding, RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { EmbedClient, embedBody } from './embed-client.ts'
import { BENCH_MODELS, mixedLengths, textOf } from './embedding-models.ts'
import type { InferenceServer, InferenceWorld } from './inference-server.ts'
import { cut } from './throughput.ts'
import { TRANSFORMERS_PEER, TransformersPeer, installTransformers } from './transformers-peer.ts'

const TEXTS = 384
const TEXTS_QUICK = 128
const TEXTS_PER_REQUEST = 32
const CONCURRENCY = 4
const EQUAL_TOKENS = 128
const MODEL = BENCH_MODELS.f32
/** Of the numbers of a vector: the graphs differ in the order of additions. */
const DIFFERENCE_MAX = 1e-3
const NUMBERS_COMPARED = 8

export async function againstTransformers(bench: Bench, world: InferenceWorld): Promise<RowResult> {
  bench.progress(`${TRANSFORMERS_PEER}: installing, unless it is there`)
  const { modelsDir } = await world.models()
  let peer: TransformersPeer
  try {
    const folder = await installTransformers()
    peer = await TransformersPeer.start({ folder, modelsDir, model: `embedders/${MODEL}` })
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error)
    return { findings: [], notes: [`${TRANSFORMERS_PEER} was not compared with: ${why}`] }
  }
  await using started = peer
  await using server = await world.start()
  return await compare(bench, world, { server, peer: started })
}

async function compare(
  bench: Bench,
  { random }: InferenceWorld,
  { server, peer }: { readonly server: InferenceServer; readonly peer: TransformersPeer },
): Promise<RowResult> {
  using client = new EmbedClient(server.api, bench.clock)
  const note = await compareVectors(client, peer, [textOf(EQUAL_TOKENS, random)])
  const count = bench.quick ? TEXTS_QUICK : TEXTS
  const lengthsOf: Readonly<Record<string, () => number[]>> = {
    [`${EQUAL_TOKENS} tokens each`]: () => Array.from({ length: count }, () => EQUAL_TOKENS),
    '9 to 221 tokens': () => mixedLengths(count, random),
  }
  const findings: RatioFinding[] = []
  for (const [lengths, make] of Object.entries(lengthsOf)) {
    const [ours, theirs]: [number[], number[]] = [[], []]
    for (let run = 0; run < bench.runs; run += 1) {
      bench.progress(`${TRANSFORMERS_PEER}, ${lengths}: run ${run + 1} of ${bench.runs}`)
      const batches = cut(
        make().map((tokens) => textOf(tokens, random)),
        TEXTS_PER_REQUEST,
      )
      const bodies = batches.map((texts) => embedBody(MODEL, texts))
      ours.push((count / (await client.embedAll(bodies, CONCURRENCY))) * 1000)
      theirs.push((count / (await peer.embed(batches)).elapsedMs) * 1000)
    }
    const label = `${MODEL}, ${lengths}`
    const named = { kind: 'ratio', label, unit: 'texts/s', peerName: TRANSFORMERS_PEER } as const
    findings.push({ ...named, ours, peer: theirs })
  }
  return { findings, notes: [note] }
}

/** Nothing is measured unless both sides compute the same. */
async function compareVectors(
  client: EmbedClient,
  peer: TransformersPeer,
  texts: readonly string[],
): Promise<string> {
  const ours = await client.lastNumbers(embedBody(MODEL, texts), NUMBERS_COMPARED)
  const { sample } = await peer.embed([texts])
  const difference = Math.max(...ours.map((value, at) => Math.abs(value - (sample[at] ?? NaN))))
  if (!(difference < DIFFERENCE_MAX)) {
    throw new Error(
      `${TRANSFORMERS_PEER} computes other vectors: ${sample.join()} for ${ours.join()}`,
    )
  }
  return `${TRANSFORMERS_PEER} and Quarry agree on vectors to ${difference.toExponential(1)}`
}
