// A script of writes, flushes and steps of maintenance, the same for one seed in any process, and the
// documents that an index holds which was given the first of its batches.

import { expect } from 'chai'
import { ManualClock } from '../../../lib/clock.ts'
import { seededRandom } from '../../../lib/random.ts'
import type { TextIndexLimits } from '../../../node/index/text/engine/text-index-options.ts'
import { TextIndex, type TextBatch } from '../../../node/index/text/engine/text-index.ts'
import { NaiveTextIndex } from '../fakes/naive-text-index.ts'
import { TextGenerator } from './text-generator.ts'
import { expectPages, TINY_LIMITS } from '../worlds/text-world.ts'

const SIZES = { words: 20, keys: 60, tokensMax: 6 }
const QUERIES_PER_CHECK = 6

export type ScriptStep =
  | { readonly kind: 'write'; readonly batch: TextBatch }
  | { readonly kind: 'flush' }
  | { readonly kind: 'maintain'; readonly times: number }

export interface TextScriptOptions {
  readonly seed: number
  readonly steps: number
}

export class TextScript {
  readonly steps: readonly ScriptStep[]
  readonly #seed: number

  constructor({ seed, steps }: TextScriptOptions) {
    this.#seed = seed
    const make = new TextGenerator(seededRandom(seed), SIZES)
    let sequence = 0
    this.steps = Array.from({ length: steps }, (): ScriptStep => {
      const chance = make.below(8)
      if (chance === 0) return { kind: 'flush' }
      if (chance < 4) return { kind: 'maintain', times: make.below(6) }
      sequence += 1
      const upserts = Array.from({ length: make.below(16) }, () => make.document())
      const deletes = Array.from({ length: make.below(4) }, () => make.key())
      return { kind: 'write', batch: { sequence, upserts, deletes } }
    })
  }

  get batches(): readonly TextBatch[] {
    return this.steps.flatMap((step) => (step.kind === 'write' ? [step.batch] : []))
  }

  /** What an index must find in which the batches up to this sequence are. */
  expectHolds(index: TextIndex, sequence: number): void {
    const naive = new NaiveTextIndex()
    for (const { sequence: at, upserts, deletes } of this.batches) {
      if (at > sequence) break
      for (const key of deletes) naive.delete(key)
      for (const document of upserts) naive.upsert(document)
    }
    const make = new TextGenerator(seededRandom(this.#seed + sequence), SIZES)
    const queries = Array.from({ length: QUERIES_PER_CHECK }, () => make.query())
    for (const query of [{ kind: 'all', boost: 1 } as const, ...queries]) {
      const asked = { query, nowMs: make.nowMs() }
      const page = { ...asked, limit: 1000, countTotal: true }
      expectPages(index, page, naive.search(asked))
    }
    expect(index.stats().documents).to.equal(naive.documents.size)
  }

  /** Gives the index what came after its checkpoint. */
  replay(index: TextIndex, upTo: number): void {
    const { checkpoint } = index
    for (const batch of this.batches) {
      if (batch.sequence > checkpoint && batch.sequence <= upTo) index.apply(batch)
    }
  }
}

export function takeStep(index: TextIndex, step: ScriptStep): void {
  if (step.kind === 'write') index.apply(step.batch)
  else if (step.kind === 'flush') index.flush()
  else for (let at = 0; at < step.times; at += 1) index.maintain(0)
}

export function openTiny(directory: string, limits: TextIndexLimits = TINY_LIMITS): TextIndex {
  return TextIndex.open({ directory, clock: new ManualClock(), limits })
}
