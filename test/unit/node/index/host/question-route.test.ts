// Questions of one index in a pool of two real workers.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import { packBatch, type DocumentChange } from '../../../../../node/index/host/document-batch.ts'
import type { IndexClient } from '../../../../../node/index/host/index-client.ts'
import type { IndexWorkerPool } from '../../../../../node/index/host/index-worker-pool.ts'
import {
  unpackAnswer,
  type PackedAnswer,
} from '../../../../../node/index/text/search/packed-answer.ts'
import type { TextSearchAnswer } from '../../../../../node/index/text/search/text-search.ts'
import type { TableField } from '../../../../../node/schema/table-field.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { until } from '../../../../support/until.ts'
import { openTestPool, searchFor } from '../../../../support/worlds/text-shard.ts'

const ENTRY = new URL('../../../../support/fakes/dividing-index-worker.ts', import.meta.url)
const TEXT: TableField = { path: ['text'], kind: 'string', documentType: undefined }
/** A worker that is not run for a while on a busy machine does not hang. */
const HANG_MS = 4000

describe('the route of a question', () => {
  let directory = ''
  let pool: IndexWorkerPool

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'question-route-'))
    pool = openTestPool({ threads: 2, entry: ENTRY, hangMs: HANG_MS })
  })

  afterEach(async () => {
    await pool.close()
    rmSync(directory, { recursive: true, force: true })
  })

  it('leads home while the home has nothing else to do', async () => {
    const index = await World.open(pool, directory)
    await until(async () => pool.isIdle)

    for (let i = 0; i < 50; i += 1) expect(await index.find()).to.have.length(3)

    expect(await dividedIn(pool)).to.equal(false)
  })

  it('leads to another worker while the home computes', async () => {
    const index = await World.open(pool, directory)
    const settled: string[] = []

    const applied = index.apply(large()).then(() => settled.push('applied'))
    const found = await index.find()
    settled.push('found')
    await applied

    expect(found).to.have.length(3)
    expect(settled).to.deep.equal(['found', 'applied'])
    expect(await dividedIn(pool)).to.equal(true)
  })

  it('leads to a worker that was started because the home was busy before', async () => {
    const index = await World.openAlone(pool, directory)

    await until(async () => {
      const applied = index.apply(large())
      const found = await index.find()
      await applied
      expect(found).to.have.length(3)
      return dividedIn(pool)
    })

    expect(pool.restarts).to.equal(0)
  })

  it('shares one division among the questions that come while it is held', async () => {
    const index = await World.open(pool, directory)

    const applied = index.apply(large())
    const found = await Promise.all(Array.from({ length: 20 }, () => index.find()))
    await applied
    await index.apply([put('b', 'tide')])
    const afterwards = index.apply(large())
    const later = await Promise.all(Array.from({ length: 20 }, () => index.find()))
    await afterwards
    await index.write(10)

    for (const keys of found) expect(keys).to.have.length(3)
    for (const keys of later) expect(keys).to.have.length(4)
    await until(() => index.hasItsFilesAlone())
  })

  it('joins what is in memory with what is sealed', async () => {
    const index = await World.open(pool, directory)
    await index.apply([put('d', 'tide road'), put('a', 'road'), put('e', 'tide')])
    const whole = await index.search()

    const applied = index.apply(large())
    const joined = await index.search()
    await applied

    expect(await dividedIn(pool)).to.equal(true)
    expect(joined).to.deep.equal(whole)
    expect(joined.total).to.equal(4)
  })

  for (const fate of ['end', 'hang']) {
    it(`leads home when the reader ${fate}s`, async () => {
      const index = await World.open(pool, directory)

      const applied = index.apply(large())
      const found = await index.find(fate)
      await applied

      expect(found).to.deep.equal([fate])
      expect(pool.restarts).to.equal(1)
      expect(await index.find()).to.have.length(3)
    }).timeout(120_000)
  }

  it('ends in both workers at the deadline, and holds no files afterwards', async () => {
    const index = await World.open(pool, directory)

    const applied = index.apply(large())
    const refusal = await errorOf(() => index.search('hang', systemClock.monotonicMs() + 200))
    await applied
    expect(refusal).to.include({ code: 'DEADLINE_EXCEEDED' })
    await until(async () => pool.restarts === 1)
    await until(async () => pool.pendingCalls === 0)
    await index.write(10)

    await until(() => index.hasItsFilesAlone())
  }).timeout(120_000)

  it('leads home after the index was opened again, and to readers that forgot the one before', async () => {
    const index = await World.open(pool, directory)
    const applied = index.apply(large())
    await index.find()
    await applied
    await index.reopen()

    await index.apply([put('x', 'tide')])
    const again = index.apply(large())
    const found = await index.find()
    await again

    expect(found).to.deep.equal(['a', 'b', 'hang', 'x'].toSorted())
  })
})

async function dividedIn(pool: IndexWorkerPool): Promise<boolean> {
  const { slices } = await pool.report()
  return slices.longestWorkMs.has('answerSealed')
}

function put(key: string, text: string): DocumentChange {
  return { key: Buffer.from(key), json: Buffer.from(JSON.stringify({ text })), expiresAtMs: 0 }
}

/** Takes the home many slices. */
function large(): readonly DocumentChange[] {
  const words = Array.from({ length: 100_000 }, (_, i) => `w${i % 5000}`)
  return [put('large', words.join(' '))]
}

/** An index with three sealed documents. */
class World {
  readonly #index: IndexClient
  readonly #directory: string
  #sequence = 0

  private constructor(index: IndexClient, directory: string) {
    this.#index = index
    this.#directory = directory
  }

  /** Beside another index, so that both workers run. */
  static async open(pool: IndexWorkerPool, directory: string): Promise<World> {
    const world = await World.openAlone(pool, directory)
    const other = pool.newIndex({ name: 'other', kind: 'text' })
    await new World(other, path.join(directory, 'other')).#open()
    return world
  }

  static async openAlone(pool: IndexWorkerPool, directory: string): Promise<World> {
    const index = pool.newIndex({ name: 'words', kind: 'text' })
    const world = new World(index, path.join(directory, 'words'))
    await world.#open()
    await world.apply([put('a', 'tide'), put('end', 'tide'), put('hang', 'tide road')])
    await world.flush()
    return world
  }

  async apply(changes: readonly DocumentChange[]): Promise<void> {
    this.#sequence += 1
    await this.#index.apply(packBatch(this.#sequence, changes))
  }

  async flush(): Promise<void> {
    await this.#index.flush(this.#sequence)
  }

  async search(
    keyPrefix = '',
    deadlineMs = systemClock.monotonicMs() + 60_000,
  ): Promise<TextSearchAnswer> {
    const { conditions, ...request } = searchFor('tide')
    const asked = {
      ...request,
      conditions: {
        ...conditions,
        keyPrefix: keyPrefix === '' ? undefined : Buffer.from(keyPrefix),
      },
    }
    const limits = { signal: new AbortController().signal, deadlineMs }
    const answer: PackedAnswer = await this.#index.ask(
      { question: 'search', request: asked },
      limits,
    )
    return runAtOnce(unpackAnswer(answer))
  }

  async find(keyPrefix = ''): Promise<readonly string[]> {
    const { hits } = await this.search(keyPrefix)
    return hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
  }

  async reopen(): Promise<void> {
    await this.#index.reset({
      definition: { id: '0123456789abcdef', kind: 'text', name: 'words', memOnly: false },
      directory: this.#directory,
      fields: [TEXT],
      schema: undefined,
    })
    await this.apply([put('a', 'tide'), put('b', 'tide'), put('hang', 'tide')])
    await this.flush()
  }

  /** So many segments that they are merged. */
  async write(segments: number): Promise<void> {
    for (let i = 0; i < segments; i += 1) {
      await this.apply([put(`m${i}`, 'road')])
      await this.flush()
    }
  }

  /** No file is left of segments that were merged. */
  async hasItsFilesAlone(): Promise<boolean> {
    const files = readdirSync(this.#directory).filter((file) => file.endsWith('.segment'))
    const { segments } = Object(await this.#index.stats())
    return files.length === segments
  }

  async #open(): Promise<void> {
    await this.#index.open({
      definition: { id: '0123456789abcdef', kind: 'text', name: 'words', memOnly: false },
      directory: this.#directory,
      source: { kind: 'given', schema: undefined },
      fields: [TEXT],
    })
  }
}
