// How many cores one run of a model uses, and how many workers may have it.
//
// Small models run on one core in as many workers as there are cores: that is as fast as one worker
// with all cores where everything is busy, and loses less where others want the cores. A large model
// runs on all cores in one worker: it would otherwise be in memory once for each, and each of its runs
// is long enough to be shared out. Steps of one token, as generators have them, take longer on two
// cores than on one up to about 200 MiB, because waking a thread costs what it saves.

import type { ModelSpec } from '../models/model-spec.ts'

type SizedModel = Pick<ModelSpec, 'fileBytes'>

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

function isWide({ fileBytes }: SizedModel): boolean {
  return fileBytes > LARGE_FILE_BYTES
}
