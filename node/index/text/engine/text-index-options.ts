import type { Clock } from '../../../../lib/clock.ts'
import type { DiskWork } from '../../files/disk-work.ts'
import { defaultMergePolicy, type MergePolicy } from './text-merge-policy.ts'
import type { TextMemory } from './text-memory.ts'

/** The sizes at which an index flushes and merges. A test passes small ones. */
export interface TextIndexLimits {
  /** A memory segment of this size is flushed. Twice as much is held while that is under way. */
  readonly memorySegmentBytesMax: number
  readonly mergePolicy: MergePolicy
}

export const defaultTextIndexLimits: TextIndexLimits = {
  memorySegmentBytesMax: 32 * 2 ** 20,
  mergePolicy: defaultMergePolicy,
}

/** What an index is opened with. Only one index at a time may use a directory. */
export interface TextIndexOptions {
  /** Undefined: nothing is kept on disk (`mem_only`). */
  readonly directory: string | undefined
  readonly clock: Clock
  readonly limits?: TextIndexLimits
  /** Shared with other indexes; default: its own. */
  readonly memory?: TextMemory
  /** What syncs and closes its files. Default: this thread. */
  readonly disk?: DiskWork
  /** Hears that `maintain` has more to do, after it answered false. */
  readonly onWork?: () => void
}
