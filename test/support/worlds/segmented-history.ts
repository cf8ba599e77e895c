// Random writes and deletions, one for each sequence, and what an index holds after each of them.

import { mkdirSync, rmSync } from 'node:fs'
import { expect } from 'chai'
import type { Random } from '../../../lib/random.ts'
import type { DocumentChange } from '../../../node/index/host/document-batch.ts'
import { jsonChange, remove, type EngineUnderTest, type OpenedEngine } from './opened-engine.ts'

const KEYS = 24
const WORDS = ['tide', 'road'] as const

/** The keys of the documents, by their word. */
type Held = Readonly<Record<(typeof WORDS)[number], readonly string[]>>

export class SegmentedHistory {
  readonly changes: readonly DocumentChange[]
  /** By sequence, from 0. */
  readonly held: readonly Held[]

  constructor(tested: EngineUnderTest, random: Random, count: number) {
    const put = tested.change ?? jsonChange
    const words = new Map<string, string>()
    const held: Held[] = [heldIn(words)]
    this.held = held
    this.changes = Array.from({ length: count }, () => {
      const key = `k${Math.floor(random() * KEYS)}`
      const word = random() < 0.5 ? 'tide' : 'road'
      const isDeleted = random() < 0.3
      if (isDeleted) words.delete(key)
      else words.set(key, word)
      held.push(heldIn(words))
      return isDeleted ? remove(key) : put(key, word)
    })
  }

  get count(): number {
    return this.changes.length
  }

  /** The change of a sequence, from 1. */
  apply(index: OpenedEngine, sequence: number): void {
    index.apply(sequence, this.changes.slice(sequence - 1, sequence))
  }

  /** What came after the checkpoint of an index that was opened, each change twice. */
  replay(index: OpenedEngine, upTo: number): void {
    for (let sequence = index.engine.checkpoint + 1; sequence <= upTo; sequence += 1) {
      this.apply(index, sequence)
      this.apply(index, sequence)
    }
  }

  expectHolds(index: OpenedEngine, sequence: number): void {
    const expected = this.held[sequence]
    for (const word of WORDS) {
      expect(index.find(word), `"${word}" at ${sequence}`).to.deep.equal(expected?.[word])
    }
    const total = WORDS.reduce((sum, word) => sum + (expected?.[word].length ?? 0), 0)
    expect(index.engine.report().documents).to.equal(total)
  }
}

function heldIn(words: ReadonlyMap<string, string>): Held {
  const keysOf = (word: string): readonly string[] =>
    [...words].flatMap(([key, other]) => (other === word ? [key] : [])).toSorted()
  return { tide: keysOf('tide'), road: keysOf('road') }
}

/** The manifest and the files that it names. `links` is a directory that may be there. */
export function listedFiles({ engine }: OpenedEngine, links: string): readonly string[] {
  rmSync(links, { recursive: true, force: true })
  mkdirSync(links)
  return engine.snapshot(links).files.map(({ name }) => name)
}
