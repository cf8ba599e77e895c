import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { Backfill } from '../../../../../node/shard/following/backfill.ts'
import {
  behindOf,
  progressOf,
  untakenBy,
  type MakingShard,
} from '../../../../../node/shard/following/documents-behind.ts'
import type { FollowerState } from '../../../../../node/shard/following/follower-state.ts'
import { sourceOf } from '../../../../../node/shard/following/index-source.ts'
import { LogTally } from '../../../../../node/shard/following/log-tally.ts'
import {
  ShardEnrichers,
  type IndexEnricher,
} from '../../../../../node/shard/following/shard-enrichers.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'

const DOCUMENTS = 9
const CHUNKED = {
  id: 'c1',
  kind: 'vectors',
  name: 'parts',
  memOnly: false,
  settings: { external: false },
}
const TEXT = { id: '', kind: 'text', name: 'words', memOnly: false }

function enricherOf(waiting: number, parked: number): IndexEnricher {
  return {
    neededAbove: 0,
    waiting,
    parked,
    error: undefined,
    documentsWalked: 0,
    walkedThrough: 0,
    status: () => Promise.reject(new Error('nobody asks')),
    close: async () => undefined,
  }
}

function shardOf(enricher: IndexEnricher | undefined): MakingShard {
  const tally = new LogTally(4)
  tally.note(5, { documents: 2, written: 2, artifacts: 0, touched: 2 })
  const enrichers = new ShardEnrichers()
  if (enricher !== undefined) enrichers.add(CHUNKED.id, enricher)
  const store = new MemoryKvStore()
  return { store, tally, documentsMax: DOCUMENTS, enrichers, chunked: [CHUNKED] }
}

function backfill(): Backfill {
  const store = new MemoryKvStore()
  const source = sourceOf({ store, ttl: undefined }, { kind: 'text', id: '' })
  return new Backfill({ source, clock: systemClock, walkedTo: 4, reason: undefined })
}

/** The counts of a shard whose log ends with 2 documents behind entry 4. */
const untaken: Record<FollowerState['kind'], { state: FollowerState; expected: number }> = {
  opening: { state: { kind: 'opening', reason: undefined }, expected: DOCUMENTS },
  building: { state: { kind: 'building', backfill: backfill() }, expected: DOCUMENTS + 2 },
  serving: { state: { kind: 'serving' }, expected: 2 },
  failed: { state: { kind: 'failed', error: 'gone' }, expected: DOCUMENTS },
}

describe('the documents that an index lacks', () => {
  for (const [kind, { state, expected }] of Object.entries(untaken)) {
    it(`are counted while it is ${kind}`, () => {
      const taken = { state, applied: 4, tallied: 'documents' } as const

      expect(untakenBy(shardOf(undefined), taken)).to.equal(expected)
    })
  }

  it('are all where the log does not reach back', () => {
    const taken = { state: { kind: 'serving' }, applied: 2, tallied: 'documents' } as const

    expect(untakenBy(shardOf(undefined), taken)).to.equal(DOCUMENTS)
  })

  it('are none in an empty table whose walk has begun', async () => {
    const walk = backfill()
    await walk.begin()

    expect(walk.left(DOCUMENTS)).to.equal(0)
  })

  it('are also those whose vectors wait or are parked, and those that are set aside', () => {
    const shard = shardOf(enricherOf(3, 4))

    expect(behindOf(shard, CHUNKED, { waiting: 2, setAside: 1 })).to.deep.equal({
      waiting: 5,
      parked: 4,
      setAside: 1,
    })
  })

  it('are also those whose chunks a full-text index will have', () => {
    const shard = shardOf(enricherOf(3, 4))

    expect(behindOf(shard, TEXT, { waiting: 2, setAside: 0 })).to.deep.equal({
      waiting: 5,
      parked: 0,
      setAside: 0,
    })
  })

  it('are all while nobody makes vectors, and none were made', () => {
    const { waiting } = behindOf(shardOf(undefined), CHUNKED, { waiting: 0, setAside: 0 })

    expect(waiting).to.equal(DOCUMENTS)
  })

  it('keep the progress below 1, except what is parked', () => {
    const of = { built: 1, documentsMax: DOCUMENTS }
    const behind = { waiting: 1, parked: 0, setAside: 0 }

    expect(progressOf(behind, of)).to.be.below(1)
    expect(progressOf({ ...behind, waiting: 10_000 }, of)).to.be.within(0, 0.001)
    expect(progressOf({ waiting: 0, parked: 2, setAside: 1 }, of)).to.equal(1)
  })
})
