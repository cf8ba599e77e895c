// One shard in a pool of two workers: searches divide while documents are written and deleted, and while
// segments are flushed and merged. Documents that nobody touches are found by each search, exactly.

import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { seededRandom } from '../../lib/random.ts'
import { runAtOnce } from '../../lib/sliced.ts'
import { unpackAnswer } from '../../node/index/text/search/packed-answer.ts'
import type { TextHit, TextSearchAnswer } from '../../node/index/text/search/text-search.ts'
import { openTestPool, searchFor, textOp, TextShard, WORDS } from '../support/worlds/text-shard.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const ENTRY = new URL('../support/fakes/dividing-index-worker.ts', import.meta.url)
/** So little that the index is flushed all the time. */
const MEMORY_BYTES_MAX = 2 ** 20
const SETTLED = 300
const ROUNDS = 25
const WRITES_PER_ROUND = 40
const SEARCHERS = 6
const MOVING_KEYS = 200
const PADDING = 'sand bank light quay wind '.repeat(8)

describe(`searches of one shard in two workers (QUARRY_TEST_SEED=${seed})`, () => {
  it('find what is there while it is written, flushed and merged', async () => {
    const pool = openTestPool({ threads: 2, memoryBytesMax: MEMORY_BYTES_MAX, entry: ENTRY })
    await using text = await TextShard.open({ pool, indexes: [WORDS, { ...WORDS, name: 'other' }] })
    const world = new World(text)
    await world.settle()

    await Promise.all([world.write(), ...Array.from({ length: SEARCHERS }, () => world.search())])
    await text.caughtUp()

    const { slices } = await pool.report()
    expect(slices.longestWorkMs.has('answerSealed'), 'a search was divided').to.equal(true)
    expect(pool.restarts).to.equal(0)
    expect(await world.moving()).to.deep.equal(world.expected())
    // Many at once are divided, and one alone is not.
    const alone = await world.ask('tide sand')
    const together = await Promise.all(Array.from({ length: 8 }, () => world.ask('tide sand')))
    for (const answer of together) expect(shown(answer)).to.deep.equal(shown(alone))
  }).timeout(300_000)
})

class World {
  readonly #text: TextShard
  readonly #random = seededRandom(seed)
  readonly #moving = new Set<string>()
  #isWriting = true

  constructor(text: TextShard) {
    this.#text = text
  }

  /** Documents that stay, and every second of them with a word that others lack. */
  async settle(): Promise<void> {
    const keys = Array.from({ length: SETTLED }, (_, i) => `s${i}`)
    const ops = keys.map((key, i) => textOp(key, `tide ${i % 2 === 0 ? 'even' : ''} ${PADDING}`))
    await this.#text.write(...ops)
    await this.#text.caughtUp()
  }

  async write(): Promise<void> {
    for (let round = 0; round < ROUNDS; round += 1) {
      const keys = Array.from({ length: WRITES_PER_ROUND }, () => `m${this.#below(MOVING_KEYS)}`)
      const ops = [...new Set(keys)].map((key) => {
        const isRemoved = this.#below(3) === 0
        if (isRemoved) this.#moving.delete(key)
        else this.#moving.add(key)
        if (isRemoved) return { kind: 'delete', key: Buffer.from(key) } as const
        return textOp(key, `moving road${round} ${PADDING}`)
      })
      await this.#text.write(...ops)
      await this.#text.caughtUp()
    }
    this.#isWriting = false
  }

  async search(): Promise<void> {
    while (this.#isWriting) {
      const [tide, even, moving] = await Promise.all(
        ['tide', 'even', 'moving'].map((words) => this.ask(words)),
      )
      expect(keysOf(tide)).to.have.length(SETTLED)
      expect(tide?.total).to.equal(SETTLED)
      expect(keysOf(even)).to.have.length(SETTLED / 2)
      const found = keysOf(moving)
      expect(new Set(found).size, 'no document is in both parts').to.equal(found.length)
      expect(moving?.total).to.equal(found.length)
    }
  }

  async ask(words: string): Promise<TextSearchAnswer> {
    const limits = {
      signal: AbortSignal.timeout(120_000),
      deadlineMs: systemClock.monotonicMs() + 120_000,
    }
    const asked = { kind: 'text', question: 'search', request: searchFor(words) } as const
    return runAtOnce(unpackAnswer(await this.#text.shard.search(WORDS.name, asked, limits)))
  }

  async moving(): Promise<readonly string[]> {
    return keysOf(await this.ask('moving')).toSorted()
  }

  expected(): readonly string[] {
    return [...this.#moving].toSorted()
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }
}

function keysOf(answer: TextSearchAnswer | undefined): readonly string[] {
  return answer?.hits.map(keyOf) ?? []
}

function keyOf({ key }: TextHit): string {
  return Buffer.from(key).toString()
}

function shown({ hits, total, maxScore }: TextSearchAnswer) {
  return { hits: hits.map((hit) => `${keyOf(hit)} ${hit.score}`), total, maxScore }
}
