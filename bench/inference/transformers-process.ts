// Embeds texts by transformers.js. transformers-peer.ts forks it. It answers one job at a time.

import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { systemClock } from '../../lib/clock.ts'
import { must } from '../../lib/assert.ts'
import { messageOf } from '../../lib/errors.ts'

export type TransformersJob =
  | {
      readonly kind: 'open'
      readonly folder: string
      readonly packageName: string
      readonly modelsDir: string
      readonly model: string
    }
  | { readonly kind: 'embed'; readonly batches: readonly (readonly string[])[] }

export type TransformersAnswer =
  | { readonly kind: 'done'; readonly elapsedMs: number; readonly sample: readonly number[] }
  | { readonly kind: 'failed'; readonly message: string }

interface Embedding {
  readonly data: Float32Array
}

type Extractor = (
  texts: readonly string[],
  options: { readonly pooling: 'mean'; readonly normalize: true },
) => Promise<Embedding>

/** The used part of the package. The sources do not install the package itself. */
interface TransformersModule {
  readonly env: { allowRemoteModels: boolean; localModelPath: string }
  pipeline(task: string, model: string, options: { readonly dtype: 'fp32' }): Promise<Extractor>
}

const SAMPLE_LENGTH = 8

let extractor: Extractor | undefined

process.on('message', (job: TransformersJob) => void answer(job))

async function answer(job: TransformersJob): Promise<void> {
  process.send?.(await perform(job))
}

async function perform(job: TransformersJob): Promise<TransformersAnswer> {
  const startMs = systemClock.monotonicMs()
  try {
    const sample = job.kind === 'open' ? await open(job) : await embed(job.batches)
    return { kind: 'done', elapsedMs: systemClock.monotonicMs() - startMs, sample }
  } catch (error) {
    return { kind: 'failed', message: messageOf(error) }
  }
}

async function open(job: TransformersJob & { kind: 'open' }): Promise<readonly number[]> {
  const entry = createRequire(path.join(job.folder, 'package.json')).resolve(job.packageName)
  const transformers: TransformersModule = await import(pathToFileURL(entry).href)
  transformers.env.allowRemoteModels = false
  transformers.env.localModelPath = job.modelsDir
  extractor = await transformers.pipeline('feature-extraction', job.model, { dtype: 'fp32' })
  return []
}

/** The beginning of the last vector, to be compared with ours. */
async function embed(batches: readonly (readonly string[])[]): Promise<readonly number[]> {
  const extract = must(extractor, 'pipeline')
  let last: Embedding | undefined
  for (const texts of batches) last = await extract(texts, { pooling: 'mean', normalize: true })
  return [...(last?.data.subarray(-SAMPLE_LENGTH) ?? [])]
}
