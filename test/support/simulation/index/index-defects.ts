// Defects for the indexes of a simulated shard: one line of production code each, that a history must show.

import { plantCopy, type Defect } from '../planted-copy.ts'
import { BrokenInvariant } from '../replication-checker.ts'
import type { simulateIndexes } from './index-simulation.ts'
import type { StepKind } from './index-steps.ts'

const SIMULATION = 'test/support/simulation/index/index-simulation.ts'

/** A defect in `node`, and which steps show it. */
export interface IndexDefect extends Defect {
  readonly kinds: readonly StepKind[]
  /** Tried first, because it showed the defect once. */
  readonly seed?: number
}

/** Runs histories with the defect until one breaks a promise; answers its seed, undefined if none does. */
export async function discoverIndexDefect(
  defect: IndexDefect,
  seedsMax: number,
): Promise<number | undefined> {
  const copied = ['node', 'test/support']
  const load = plantCopy({ copied, linked: ['lib', 'door', 'openapi', 'node_modules'] }, defect)
  const simulation = await load<{ readonly simulateIndexes: typeof simulateIndexes }>(SIMULATION)
  const { kinds } = defect
  const seeds = Array.from({ length: seedsMax }, (_, i) => i + 1)
  for (const seed of defect.seed === undefined ? seeds : [defect.seed, ...seeds]) {
    try {
      await simulation.simulateIndexes({ seed, kinds })
    } catch (error) {
      // The copy has a class of its own.
      if (!(error instanceof Error) || error.name !== BrokenInvariant.name) throw error
      return seed
    }
  }
  return undefined
}

export const INDEX_DEFECTS: Readonly<Record<string, IndexDefect>> = {
  'a flush that claims the next entry of the log, too': {
    file: 'shard/following/index-follower.ts',
    text: '(await this.index.flush(sequence)).checkpoint',
    instead: '(await this.index.flush(sequence + 1)).checkpoint',
    kinds: ['kill', 'kill_while_flushing'],
  },
  'a batch that counts as one entry more': {
    file: 'shard/following/index-follower.ts',
    text: 'const upTo = isLast ? sequence : this.#applied',
    instead: 'const upTo = isLast ? sequence + 1 : sequence',
    kinds: ['kill'],
    seed: 3,
  },
  'a merge that forgets what was deleted meanwhile': {
    file: 'index/segments/live-part.ts',
    text: 'while (this.#count(i) < log.length) this.#carry(i)',
    instead: 'if (i < 0) this.#carry(log.length)',
    kinds: [],
  },
  'a deletion that is not written down': {
    file: 'index/text/engine/text-segments.ts',
    text: 'for (const word of deleted) out.writeUint32(word)',
    instead: 'for (const word of deleted) out.writeUint32(word * 0)',
    kinds: ['kill', 'close'],
  },
  'damage that is not looked for': {
    file: 'index/text/engine/text-segments.ts',
    text: 'if (bytes.length !== words * 4 + 4 || readUint32(bytes, words * 4) !== sum)',
    instead: 'if (bytes.length !== words * 4 + 4 || sum < 0)',
    kinds: ['kill_and_flip'],
    seed: 2,
  },
  'an end of a worker that nobody hears of': {
    file: 'index/host/index-worker-thread.ts',
    text: 'if (!this.#isClosed) for (const listener of this.#onBroken.values()) listener(error)',
    instead: 'if (this.#isClosed) for (const listener of this.#onBroken.values()) listener(error)',
    kinds: ['end_worker'],
    seed: 26,
  },
  'a position of before after a restart': {
    file: 'shard/following/index-follower.ts',
    text: 'if (opened.checkpoint < shard.appliedSequence) {',
    instead:
      'this.#applied = shard.appliedSequence\n    if (opened.checkpoint < shard.appliedSequence) {',
    kinds: ['kill', 'close', 'end_worker'],
  },
  'a walk that leaves out the last key': {
    file: 'shard/following/document-changes.ts',
    text: 'store.pages({ ...from, lte: source.placeOf(last) })',
    instead: 'store.pages({ ...from, lt: source.placeOf(last) })',
    kinds: ['add_or_drop', 'change_schema'],
  },
}
