// Runs onnxruntime-node without a server, as the upper bound for every server. raw-peer.ts forks it. It
// answers one job at a time.

import { InferenceSession, Tensor } from 'onnxruntime-node'
import { nativeOptions } from '../../inference/runtime/onnx-session.ts'
import { systemClock } from '../../lib/clock.ts'
import { must } from '../../lib/assert.ts'

export type RawJob =
  | { readonly kind: 'open'; readonly graphFile: string; readonly threads: number }
  /** Each batch is the lengths in tokens of its texts; all are padded to the longest. */
  | { readonly kind: 'run'; readonly batches: readonly (readonly number[])[] }

/** The time of a job. */
export interface RawAnswer {
  readonly elapsedMs: number
}

const TOKEN = 1000n

let session: InferenceSession | undefined

process.on('message', (job: RawJob) => void answer(job))

async function answer(job: RawJob): Promise<void> {
  const startMs = systemClock.monotonicMs()
  if (job.kind === 'open') session = await openSession(job)
  else for (const lengths of job.batches) await runBatch(must(session, 'session'), lengths)
  const done: RawAnswer = { elapsedMs: systemClock.monotonicMs() - startMs }
  process.send?.(done)
}

/** Uses the settings of our server, so that the comparison measures only the server around the graph. */
function openSession({ graphFile, threads }: RawJob & { kind: 'open' }): Promise<InferenceSession> {
  return InferenceSession.create(graphFile, nativeOptions({ threads }))
}

async function runBatch(open: InferenceSession, lengths: readonly number[]): Promise<void> {
  const longest = Math.max(...lengths)
  const dims = [lengths.length, longest]
  const ids = new BigInt64Array(lengths.length * longest)
  const mask = new BigInt64Array(ids.length)
  lengths.forEach((length, row) => {
    ids.fill(TOKEN, row * longest, row * longest + length)
    mask.fill(1n, row * longest, row * longest + length)
  })
  await open.run({
    input_ids: new Tensor('int64', ids, dims),
    attention_mask: new Tensor('int64', mask, dims),
    token_type_ids: new Tensor('int64', new BigInt64Array(ids.length), dims),
  })
}
