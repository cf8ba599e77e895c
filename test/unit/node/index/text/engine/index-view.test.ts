// Views in real threads, while the writer works. The hits of the thread in the view and the hits of
// this thread in memory are together the hits of the whole index at that moment.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { seededRandom } from '../../../../../../lib/random.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { DISK_WORK_HERE } from '../../../../../../node/index/files/disk-work.ts'
import type { EngineQuery } from '../../../../../../node/index/text/engine-query.ts'
import { TextIndex } from '../../../../../../node/index/text/engine/text-index.ts'
import { TextMemory } from '../../../../../../node/index/text/engine/text-memory.ts'
import { ViewReader } from '../../../../../../node/index/text/engine/view-reader.ts'
import type { IndexableDocument } from '../../../../../../node/index/text/indexable-document.ts'
import type { OrdinalSet } from '../../../../../../node/index/host/ordinal-set.ts'
import type { SearchHit, SearchResult } from '../../../../../../node/index/text/matching/search.ts'
import type { Selection } from '../../../../../../node/index/text/matching/select.ts'
import type { ViewAnswer, ViewQuestion } from '../../../../../support/fakes/text-view-worker.ts'
import { TextGenerator } from '../../../../../support/loads/text-generator.ts'
import { parseTestSettings } from '../../../../../support/worlds/test-settings.ts'
import { describing, TINY_LIMITS } from '../../../../../support/worlds/text-world.ts'
import { tokenListOf } from '../../../../../support/worlds/field-tokens.ts'

const { seed: baseSeed } = parseTestSettings(process.env)
const WORKER = new URL('../../../../../support/fakes/text-view-worker.ts', import.meta.url)
const SIZES = { words: 8, keys: 40, tokensMax: 6 }
const WORLDS = 4
const QUESTIONS = 60
const ALL: EngineQuery = { kind: 'all', boost: 1 }

describe(`a view of a text index (QUARRY_TEST_SEED=${baseSeed})`, () => {
  let directory = ''

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'text-views-'))
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  for (let seed = baseSeed; seed < baseSeed + WORLDS; seed += 1) {
    const isDurable = seed % 2 === 0
    it(`is searched in another thread, ${isDurable ? 'on disk' : 'in memory'} (seed ${seed})`, async () => {
      const worker = new Worker(WORKER)
      try {
        const world = new World(seed, isDurable ? directory : undefined)
        for (let asked = 0; asked < QUESTIONS; asked += 1) {
          const question = world.ask(asked)
          const answer = nextAnswer(worker)
          worker.postMessage(question.posted, [])
          // The thread searches while this one writes, flushes and merges.
          world.goOn()
          question.check(await answer)
        }
        if (isDurable) world.expectNoStrangers(directory)
      } finally {
        await worker.terminate()
      }
    }).timeout(120_000)
  }

  it('keeps the files of merged segments until it is released', () => {
    const index = TextIndex.open({ directory, clock: new ManualClock(), limits: TINY_LIMITS })
    const files = (): readonly string[] =>
      readdirSync(directory).filter((name) => name.endsWith('.segment'))
    for (let i = 0; i < 2; i += 1) writeAndFlush(index, i)
    const [first, second] = [index.view(), index.view()]
    const held = files()
    for (let i = 2; i < 9; i += 1) writeAndFlush(index, i)
    while (index.maintain(1));

    expect(files()).to.include.members([...held])
    first.release()
    first.release()
    expect(files()).to.include.members([...held])
    const reader = new ViewReader(new TextMemory(), DISK_WORK_HERE)
    const snapshot = runAtOnce(reader.open(second.description))
    second.release()

    expect(files()).to.not.include(held[0])
    const { total } = runAtOnce(
      snapshot.search({ query: ALL, nowMs: 1, limit: 5, countTotal: true }),
    )
    expect(total).to.equal(2)
    snapshot.release()
    reader.close()
    index.close()
  })

  it('leaves its files to be removed at the next opening when the index is closed first', () => {
    const index = TextIndex.open({ directory, clock: new ManualClock(), limits: TINY_LIMITS })
    writeAndFlush(index, 0)
    const view = index.view()
    for (let i = 1; i < 9; i += 1) writeAndFlush(index, i)
    while (index.maintain(1));
    const before = readdirSync(directory)

    index.close()
    view.release()
    expect(readdirSync(directory)).to.deep.equal(before)
    TextIndex.open({ directory, clock: new ManualClock() }).close()

    expect(readdirSync(directory).length).to.be.lessThan(before.length)
  })

  it('may be opened after a later one', () => {
    const index = TextIndex.open({ directory: undefined, clock: new ManualClock() })
    for (let i = 0; i < 3; i += 1) writeAndFlush(index, i)
    const early = index.view()
    index.apply({ sequence: 99, upserts: [], deletes: [Buffer.from('k1')] })
    const late = index.view()
    const reader = new ViewReader(new TextMemory(), DISK_WORK_HERE)

    const totals = [late, early, late].map(({ description }) => {
      const snapshot = runAtOnce(reader.open(description))
      const query = { kind: 'term', field: 'body', term: 'word', boost: 1 } as const
      const { total, maxScore } = runAtOnce(
        snapshot.search({ query, nowMs: 1, limit: 5, countTotal: true }),
      )
      snapshot.release()
      return { total, maxScore: maxScore.toFixed(6) }
    })

    expect(totals.map(({ total }) => total)).to.deep.equal([2, 3, 2])
    expect(totals[0]).to.deep.equal(totals[2])
    expect(totals[0]).to.not.deep.equal(totals[1])
  })

  it('shares its memory instead of copying it', () => {
    const index = TextIndex.open({ directory, clock: new ManualClock() })
    for (let i = 0; i < 3; i += 1) writeAndFlush(index, i)

    const { description } = index.view()

    const [segment] = description.segments
    const parts = [segment?.deleted.bits, segment?.deleted.log, segment?.resident.filter]
    for (const part of [...parts, segment?.resident.norms]) {
      expect(part?.buffer).to.be.instanceOf(SharedArrayBuffer)
    }
    index.close()
  })
})

function writeAndFlush(index: TextIndex, i: number): void {
  const tokens = tokenListOf([{ term: 'word', position: 0 }])
  const body = { kind: 'text', name: 'body', tokens, length: 1 } as const
  const upserts = [{ key: Buffer.from(`k${i}`), expiresAtMs: 0, ordinal: i, fields: [body] }]
  index.apply({ sequence: i + 1, upserts, deletes: [] })
  index.flush()
}

function nextAnswer(worker: Worker): Promise<ViewAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ViewAnswer>()
  worker.once('message', (answer: ViewAnswer) => {
    worker.off('error', reject)
    resolve(answer)
  })
  worker.once('error', reject)
  return promise
}

interface Question {
  readonly posted: ViewQuestion
  check(answer: ViewAnswer): void
}

class World {
  readonly #make: TextGenerator
  readonly #index: TextIndex
  #sequence = 0
  #nextOrdinal = 0

  constructor(seed: number, directory: string | undefined) {
    this.#make = new TextGenerator(seededRandom(seed), SIZES)
    this.#index = TextIndex.open({ directory, clock: new ManualClock(), limits: TINY_LIMITS })
    for (let i = 0; i < 10; i += 1) this.goOn()
  }

  /** Some batches, and perhaps a flush or a part of a merge. */
  goOn(): void {
    for (let i = this.#make.below(4); i >= 0; i -= 1) this.#write()
    const chance = this.#make.below(6)
    if (chance === 0) this.#index.flush()
    else if (chance === 1) while (this.#index.maintain(1));
    else if (chance === 2) this.#index.maintain(0)
  }

  ask(number: number): Question {
    const querySeed = this.#make.below(2 ** 30)
    const query = new TextGenerator(seededRandom(querySeed), SIZES).query()
    const [nowMs, limit] = [this.#make.nowMs(), this.#make.limit()]
    const snapshot = this.#index.snapshot()
    const { view, memory } = this.#index.snapshotInParts()
    const statistics = runAtOnce(snapshot.queryStatistics(query))
    const request = { query, nowMs, limit, countTotal: true, statistics }
    const check = ({ found, selection, ...answer }: ViewAnswer): void =>
      describing({ query, nowMs, limit }, () => {
        expect(answer.number).to.equal(number)
        const whole = runAtOnce(snapshot.search(request))
        const inMemory = runAtOnce(memory.search(request))
        expect(shown(merged([found, inMemory], limit))).to.deep.equal(shown(whole))
        const match = { query, nowMs }
        const selected = [selection, runAtOnce(memory.select(match))]
        expect(membersOf(selected)).to.deep.equal(membersOf([runAtOnce(snapshot.select(match))]))
        view.release()
        memory.release()
        snapshot.release()
      })
    const posted = { number, view: view.description, querySeed, sizes: SIZES }
    return { posted: { ...posted, statistics, nowMs, limit }, check }
  }

  /** No view is held: what lies in the directory is what the index needs. */
  expectNoStrangers(directory: string): void {
    while (this.#index.maintain(1));
    const { segments } = this.#index.stats()
    const files = readdirSync(directory).filter((name) => name.endsWith('.segment'))
    expect(files).to.have.length(segments)
  }

  #write(): void {
    const deletes = this.#make.below(3) === 0 ? [this.#make.key()] : []
    const upserts: IndexableDocument[] = []
    for (let i = this.#make.below(3); i > 0; i -= 1) {
      this.#nextOrdinal += 1
      upserts.push({ ...this.#make.document(), ordinal: this.#nextOrdinal })
    }
    this.#sequence += 1
    this.#index.apply({ sequence: this.#sequence, upserts, deletes })
  }
}

function merged(results: readonly SearchResult[], limit: number): Omit<SearchResult, 'statistics'> {
  const hits = results
    .flatMap((result) => result.hits)
    .toSorted((a, b) => b.score - a.score || Buffer.compare(a.key, b.key))
    .slice(0, limit)
  const total = results.reduce((sum, result) => sum + result.total, 0)
  const maxScore = hits.reduce((most, { score }) => Math.max(most, score), 0)
  return { hits, total, maxScore, isTotalExact: true }
}

function shown({ hits, total, maxScore }: Omit<SearchResult, 'statistics'>) {
  return { hits: hits.map(shownHit), total, maxScore }
}

function shownHit({ key, score }: SearchHit): string {
  return `${Buffer.from(key).toString('hex')} ${score}`
}

function membersOf(selections: readonly Selection[]): readonly number[] {
  return selections.flatMap(({ set }) => listOf(set)).toSorted((a, b) => a - b)
}

function listOf(set: OrdinalSet): readonly number[] {
  if (set.kind === 'bitmap') throw new RangeError('the world is too small for a bitmap')
  return [...set.ordinals]
}
