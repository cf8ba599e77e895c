// How many cores one run of a model uses, and how many workers may have it.
//
// Small models run on one core in as many workers as there are cores: that is as fast as one worker
// with all cores where everything is busy, and loses less where others want the cores. Two kinds of
// models run on all cores in one worker: large ones, which would otherwise be in memory once for
// each core, and those that make their answers step by step, where nothing else could run beside.

import type { ModelSpec } from './model-spec.ts'

type SizedModel = Pick<ModelSpec, 'kind' | 'fileBytes'>

const LARGE_FILE_BYTES = 256 * 1024 * 1024
/** Beyond, the steps of one run are too short to be shared out. */
const THREADS_MAX = 8

export interface ThreadSettings {
  /** Of every run; 0: as the model is. */
  readonly threads: number
  readonly cores: number
}

export function threadsOf(spec: SizedModel, { threads, cores }: ThreadSettings): number {
  if (threads > 0) return threads
  return isWide(spec) ? Math.min(cores, THREADS_MAX) : 1
}

/** Whether a second worker may load it when one cannot keep up. */
export function mayHaveReplicas(spec: SizedModel, { threads }: ThreadSettings): boolean {
  return threads > 0 || !isWide(spec)
}

function isWide({ kind, fileBytes }: SizedModel): boolean {
  return kind === 'generator' || kind === 'rewriter' || fileBytes > LARGE_FILE_BYTES
}
