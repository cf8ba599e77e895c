// Texts per second over HTTP, against onnxruntime-node with nothing around it in the same run.

import { availableParallelism } from 'node:os'
import type { Goal, RatioFinding, RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { EmbedClient, embedBody } from './embed-client.ts'
import { BENCH_MODELS, mixedLengths, textOf } from './embedding-models.ts'
import type { BenchModelName } from './embedding-models.ts'
import type { InferenceServer, InferenceWorld } from './inference-server.ts'
import { RawPeer } from './raw-peer.ts'
import type { RawSetting } from './raw-peer.ts'

const TEXTS_PER_REQUEST = 32
const CONCURRENCY = 4
const EQUAL_TOKENS = 128
/** As many tokens as a batch of the server has, and twice as many: which is faster, machines differ. */
const RAW_BATCH_TEXTS = [4, 8]
const FIFO_BATCH_TEXTS = 32
/** 8-bit weights are about twice as fast: twice the texts take as long. */
const TEXTS: Readonly<Record<BenchModelName, number>> = { 'minilm-f32': 384, 'minilm-i8': 768 }
const TEXTS_QUICK = 128

interface Duel {
  readonly label: string
  readonly model: BenchModelName
  readonly lengths: readonly number[]
  readonly peers: readonly PeerSetting[]
}

interface PeerSetting extends Omit<RawSetting, 'graphFile'> {
  readonly name: string
  /** First in, first out; each batch is padded to its longest text. */
  readonly batchTexts: number
  readonly goal?: Goal
}

export async function equalLengths(bench: Bench, world: InferenceWorld): Promise<RowResult> {
  const cores = availableParallelism()
  const peers = RAW_BATCH_TEXTS.map((batchTexts) => ({
    name: `raw onnxruntime-node, batches of ${batchTexts}`,
    processes: cores,
    threads: 1,
    batchTexts,
    goal: { kind: 'at-least', value: 0.9 } as const,
  }))
  return duels(
    bench,
    world,
    Object.values(BENCH_MODELS).map((model) => ({
      label: `${model}, ${EQUAL_TOKENS} tokens each`,
      model,
      lengths: Array.from({ length: textCount(bench, model) }, () => EQUAL_TOKENS),
      peers,
    })),
  )
}

/** The peer of the goal is one queue before one session, which is what a plain server is. */
export async function mixedTexts(bench: Bench, world: InferenceWorld): Promise<RowResult> {
  const cores = availableParallelism()
  const fifo = { threads: 1, batchTexts: FIFO_BATCH_TEXTS }
  const peers: readonly PeerSetting[] = [
    {
      ...fifo,
      name: 'FIFO-32, one session',
      processes: 1,
      goal: { kind: 'at-least', value: 6 },
    },
    { ...fifo, name: `FIFO-32, ${cores} sessions`, processes: cores },
  ]
  return duels(
    bench,
    world,
    Object.values(BENCH_MODELS).map((model) => ({
      label: `${model}, 9 to 221 tokens`,
      model,
      lengths: mixedLengths(textCount(bench, model), world.random),
      peers,
    })),
  )
}

function textCount({ quick }: Bench, model: BenchModelName): number {
  return quick ? TEXTS_QUICK : TEXTS[model]
}

async function duels(
  bench: Bench,
  world: InferenceWorld,
  all: readonly Duel[],
): Promise<RowResult> {
  await using server = await world.start()
  const findings: RatioFinding[] = []
  for (const duel of all) findings.push(...(await runDuel(bench, world, { duel, server })))
  return { findings }
}

async function runDuel(
  bench: Bench,
  world: InferenceWorld,
  { duel, server }: { readonly duel: Duel; readonly server: InferenceServer },
): Promise<readonly RatioFinding[]> {
  const { graphFiles } = await world.models()
  using client = new EmbedClient(server.api, bench.clock)
  await client.embedAll(bodiesOf(duel, world).slice(0, CONCURRENCY), CONCURRENCY) // loads the model
  const findings: RatioFinding[] = []
  for (const peer of duel.peers) {
    await using raw = await RawPeer.start({ graphFile: graphFiles[duel.model], ...peer })
    const [ours, theirs]: [number[], number[]] = [[], []]
    for (let run = 0; run < bench.runs; run += 1) {
      bench.progress(`${duel.label}, ${peer.name}: run ${run + 1} of ${bench.runs}`)
      const elapsedMs = await client.embedAll(bodiesOf(duel, world), CONCURRENCY)
      ours.push((duel.lengths.length / elapsedMs) * 1000)
      theirs.push(await raw.run(cut(duel.lengths, peer.batchTexts)))
    }
    const { name: peerName, goal } = peer
    const named = { kind: 'ratio', label: duel.label, unit: 'texts/s', peerName } as const
    findings.push({ ...named, ours, peer: theirs, ...(goal === undefined ? {} : { goal }) })
  }
  return findings
}

function bodiesOf({ model, lengths }: Duel, { random }: InferenceWorld): Buffer[] {
  return cut(lengths, TEXTS_PER_REQUEST).map((batch) =>
    embedBody(
      model,
      batch.map((tokens) => textOf(tokens, random)),
    ),
  )
}

export function cut<T>(values: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) =>
    values.slice(index * size, (index + 1) * size),
  )
}
