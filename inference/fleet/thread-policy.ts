// Decides how many cores one run of a model uses, and how many workers may load it.
//
// A small model runs on one core, in up to one worker for each core. On a busy machine that is as fast
// as one worker with all cores, and it loses less when other programs need the cores. A large model runs
// on all cores in one worker, because each further worker would hold a copy of it, and its runs are long
// enough to divide. For single-token steps of generators, two cores are slower than one for models up to
// about 200 MiB, because waking a thread costs as much as it saves.

import type { ModelSpec } from '../models/model-spec.ts'

type SizedModel = Pick<ModelSpec, 'fileBytes'>

const LARGE_FILE_BYTES = 256 * 1024 * 1024
/** With more threads, the parts of one run become too short. */
const THREADS_MAX = 8

/** The configured threads, and the cores of the machine. */
export interface ThreadSettings {
  /** The threads of every run; 0: by the size of the model. */
  readonly threads: number
  readonly cores: number
}

/** The threads of one run of a model. */
export function threadsOf(spec: SizedModel, { threads, cores }: ThreadSettings): number {
  if (threads > 0) return threads
  return isWide(spec) ? Math.min(cores, THREADS_MAX) : 1
}

/** Whether more than one worker may load a model. */
export function mayHaveReplicas(spec: SizedModel, { threads }: ThreadSettings): boolean {
  return threads > 0 || !isWide(spec)
}

function isWide({ fileBytes }: SizedModel): boolean {
  return fileBytes > LARGE_FILE_BYTES
}
