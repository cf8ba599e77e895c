// Full-text indexes find documents by the chunks that an index of vectors keeps, as if documents had them.

import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { seededRandom } from '../../../../../lib/random.ts'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import { encodeArtifact, type ArtifactTexts } from '../../../../../node/embedding/artifact.ts'
import type { IndexDefinition } from '../../../../../node/index/host/index-definition.ts'
import { unpackAnswer } from '../../../../../node/index/text/search/packed-answer.ts'
import type { WriteOp } from '../../../../../node/shard/command/command.ts'
import { deleteOp } from '../../../../support/worlds/shard-world.ts'
import {
  settingsOf,
  textOp,
  textSearch,
  TextShard,
  WORDS,
} from '../../../../support/worlds/text-shard.ts'
import { until } from '../../../../support/until.ts'

const DIMENSION = 2
const SEA = ['tide', 'ebb', 'shoal', 'beacon', 'anchor']
const FIELD = '_chunks.parts._content'

function vectorsIndex(chunker: object | undefined): IndexDefinition {
  const settings = {
    external: false,
    sparse: false,
    dimension: DIMENSION,
    metric: 'l2_squared',
    engine: 'exact',
    quantization: 'f32',
    source: { kind: 'field', path: 'text' },
    embedder: { provider: 'quarry' },
    ...(chunker && { chunker }),
  }
  return { id: 'feedfeedfeedfeed', kind: 'vectors', name: 'parts', memOnly: false, settings }
}

const config = { provider: 'quarry' }
const FOUND = vectorsIndex({ config, storeChunks: false, fullText: true })
const STORED = vectorsIndex({ config, storeChunks: true, fullText: false })

function artifactOf(chunks: readonly string[], more: ArtifactTexts = {}): Buffer {
  const rows = chunks.map((text, i) => {
    return { start: i * 10, end: i * 10 + text.length, vector: Float32Array.of(i, 1) }
  })
  const head = { kind: 'dense', ordinal: 0, sourceHash: Buffer.alloc(16, 1) } as const
  return encodeArtifact({ ...head, dimension: DIMENSION, rows, texts: { ...more, chunks } })
}

function parked(): Buffer {
  const head = { kind: 'parked', ordinal: 0, sourceHash: Buffer.alloc(16, 2) } as const
  return encodeArtifact({ ...head, attempts: 3, texts: { error: 'tide was refused' } })
}

const alone = (key: string, artifact: Buffer | undefined): WriteOp => ({
  kind: 'artifacts',
  key: Buffer.from(key),
  artifacts: [{ index: FOUND.id, artifact }],
})
const together = (key: string, text: string, artifact: Buffer): WriteOp => ({
  ...textOp(key, text),
  artifacts: [{ index: FOUND.id, artifact }],
})

async function foundIn(text: TextShard, words: string, field = FIELD): Promise<readonly string[]> {
  await text.caughtUp()
  const limits = { signal: AbortSignal.timeout(60_000), deadlineMs: Infinity }
  const answer = await text.shard.search(WORDS.name, textSearch(words, field), limits)
  const { hits } = runAtOnce(unpackAnswer(answer))
  return hits.map(({ key }) => Buffer.from(key).toString()).toSorted()
}

/** One shard, and what its documents' chunks have to be. */
class KnownChunks {
  readonly text: TextShard
  readonly chunks = new Map<string, readonly string[]>()
  readonly #random = seededRandom(17)

  constructor(text: TextShard) {
    this.text = text
  }

  below(end: number): number {
    return Math.floor(this.#random() * end)
  }

  async change(): Promise<void> {
    const key = `k${this.below(12)}`
    const chunks = Array.from({ length: 1 + this.below(3) }, () => this.#words())
    switch (this.below(6)) {
      case 0:
        this.chunks.delete(key)
        return this.text.write(deleteOp(key))
      case 1:
        // A document keeps its chunks when it is changed, until they are made again.
        this.chunks.set(key, this.chunks.get(key) ?? [])
        return this.text.write(textOp(key, 'changed'))
      case 2:
        if (!this.chunks.has(key)) return
        this.chunks.set(key, [])
        return this.text.write(alone(key, this.below(2) === 0 ? undefined : parked()))
      case 3:
        if (!this.chunks.has(key)) return
        this.chunks.set(key, chunks)
        return this.text.write(alone(key, artifactOf(chunks)))
      default:
        this.chunks.set(key, chunks)
        return this.text.write(together(key, 'new', artifactOf(chunks)))
    }
  }

  async compare(when: string): Promise<void> {
    for (const word of SEA) {
      const wanted = [...this.chunks].filter(([, chunks]) =>
        chunks.some((one) => one.includes(word)),
      )
      expect(await foundIn(this.text, word), `${when}: ${word}`).to.deep.equal(
        wanted.map(([key]) => key).toSorted(),
      )
    }
  }

  #words(): string {
    return `${SEA[this.below(SEA.length)]} and ${SEA[this.below(SEA.length)]}`
  }
}

describe('chunks in a full-text index', function () {
  this.timeout(120_000)

  it('are found as they are now: told by the log, walked, and replayed', async () => {
    const options = { indexes: [WORDS, FOUND] }
    await using text = await TextShard.open(options)
    const known = new KnownChunks(text)

    for (let round = 0; round < 3; round += 1) {
      for (let n = 0; n < 40; n += 1) await known.change()
      await known.compare(`followed, round ${round}`)
      await text.close()
      if (round === 1) await rm(text.indexRoot, { recursive: true })
      await text.open(options)
      await known.compare(`opened again, round ${round}`)
    }
  })

  it('are found by no word of another document under the key', async () => {
    await using text = await TextShard.open({ indexes: [WORDS, FOUND] })
    await text.write(together('a', 'first', artifactOf(['tide'])))
    await text.write(deleteOp('a'))
    await text.write(textOp('a', 'second'))

    expect(await foundIn(text, 'tide')).to.deep.equal([])
    expect(await foundIn(text, 'second', 'text')).to.deep.equal(['a'])
  })

  it('bring the descriptions of media along', async () => {
    await using text = await TextShard.open({ indexes: [WORDS, FOUND] })
    const summary = 'a lighthouse at dusk'
    await text.write(together('a', 'photo', artifactOf(['a lighthouse'], { summary })))

    expect(await foundIn(text, 'dusk', '_summaries.parts')).to.deep.equal(['a'])
    expect(await foundIn(text, 'dusk')).to.deep.equal([])
  })

  it('are found in no table whose chunkers only store them', async () => {
    await using text = await TextShard.open({ indexes: [WORDS, STORED] })
    await text.write(together('a', 'first', artifactOf(['tide'])))

    expect(await foundIn(text, 'tide')).to.deep.equal([])
    expect(await foundIn(text, 'first', 'text')).to.deep.equal(['a'])
  })

  it('are found where they came before the news of their index', async () => {
    await using text = await TextShard.open({ indexes: [WORDS] })
    await text.write(together('a', 'first', artifactOf(['tide'])))
    await text.caughtUp()

    await text.shard.led.setSettings(settingsOf({ indexes: [WORDS, FOUND] }))

    await until(async () => {
      const keys: readonly string[] = await foundIn(text, 'tide').catch(() => [])
      return keys.includes('a')
    })
  })
})
