import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { must } from '../../../../../lib/assert.ts'
import { systemClock } from '../../../../../lib/clock.ts'
import { silentLog, type Log } from '../../../../../lib/log.ts'
import { timestampAtMs } from '../../../../../node/clock/hybrid-clock.ts'
import { unpackBatch } from '../../../../../node/index/host/document-batch.ts'
import { nameOf } from '../../../../../node/schema/table-field.ts'
import { parseTableSchema } from '../../../../../node/schema/table-schema.ts'
import { collectHistory } from '../../../../../node/shard/housekeeping/history-collection.ts'
import {
  readLastKey,
  readNextDocuments,
} from '../../../../../node/shard/following/document-changes.ts'
import { sourceOf } from '../../../../../node/shard/following/index-source.ts'
import { INDEX_LAG_BYTES_MAX } from '../../../../../node/shard/following/index-lag.ts'
import { endOfLog } from '../../../../../node/shard/format/stored-log.ts'
import { until } from '../../../../support/until.ts'
import { deleteOp } from '../../../../support/worlds/shard-world.ts'
import {
  openTestPool,
  textSearch,
  settingsOf,
  textOp,
  TextShard,
  type TextShardOptions,
  WORDS,
} from '../../../../support/worlds/text-shard.ts'

const SCHEMA = parseTableSchema(
  { document_schemas: { note: { schema: { properties: { text: { type: 'string' } } } } } },
  undefined,
)

/** So many that a page of documents takes the index a while. */
const WORDS_OF_A_DOCUMENT = Array.from({ length: 300 }, (_, i) => `w${i}`).join(' ')

type Fields = Readonly<Record<string, unknown>>

/** What was logged, and the documents that it names. */
class BuildLog {
  readonly #lines: { readonly message: string; readonly fields: Fields | undefined }[] = []
  readonly log: Log = {
    ...silentLog,
    info: (message, fields) => this.#lines.push({ message, fields }),
  }

  documentsOf(wanted: string): readonly number[] {
    const lines = this.#lines.filter(({ message }) => message === wanted)
    return lines.map(({ fields }) => Number(fields?.['documents']))
  }
}

/** What the indexes of a pool are given. */
class GivenBatches {
  readonly pool = openTestPool()
  readonly #batches: { readonly sequence: number; readonly keys: readonly string[] }[] = []
  #beforeFlush: number | undefined

  constructor() {
    const { pool } = this
    const newIndex = pool.newIndex.bind(pool)
    pool.newIndex = (place) => {
      const index = newIndex(place)
      const [apply, flush] = [index.apply.bind(index), index.flush.bind(index)]
      index.apply = (batch) => {
        const keys = Array.from(unpackBatch(batch), ({ key }) => Buffer.from(key).toString())
        this.#batches.push({ sequence: batch.sequence, keys })
        return apply(batch)
      }
      index.flush = (sequence) => {
        this.#beforeFlush ??= this.#batches.length
        return flush(sequence)
      }
      return index
    }
  }

  sequencesWith(wanted: string): readonly number[] {
    return this.#batches.filter(({ keys }) => keys.includes(wanted)).map(({ sequence }) => sequence)
  }

  /** A flush of the whole index ends a build. */
  get beforeFirstFlush(): readonly number[] {
    return this.#batches.slice(0, this.#beforeFlush).map(({ sequence }) => sequence)
  }
}

/** Documents whose index takes a while to build. */
const MANY = 6000

/** A shard without indexes that has them, and is closed. */
async function closedWithMany(options: TextShardOptions): Promise<TextShard> {
  const text = await TextShard.open({ ...options, hasIndexes: false })
  const keys = Array.from({ length: MANY }, (_, i) => `k${String(i).padStart(4, '0')}`)
  await text.write(...keys.map((key) => textOp(key, `tide ${WORDS_OF_A_DOCUMENT}`)))
  await text.close()
  return text
}

/** Everything that is not needed, however young it is. */
async function collectAll(text: TextShard): Promise<void> {
  await collectHistory(text.shard.led, timestampAtMs(systemClock.nowMs() + 60_000))
}

describe('a text index of a shard', () => {
  it('finds the newest version of written documents, and no deleted ones', async () => {
    await using text = await TextShard.open()
    await text.write(textOp('a', 'high tide'), textOp('b', 'low tide'), textOp('c', 'ebb'))
    await text.write(textOp('b', 'spring flood'), deleteOp('c'))

    await text.caughtUp()

    expect(await text.find('tide')).to.deep.equal(['a'])
    expect(await text.find('flood')).to.deep.equal(['b'])
    expect(await text.find('ebb')).to.deep.equal([])
    expect(await text.status()).to.include({ totalIndexed: 2, rebuilding: false, error: undefined })
  })

  it('agrees with the documents whatever is written while it is built', async () => {
    const step = fc.record({ key: fc.nat(20), word: fc.constantFrom('tide', 'ebb', undefined) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.nat(60), async (steps, cut) => {
        await using text = await TextShard.open({ hasIndexes: false })
        const expected = new Map<string, string>()
        for (const [i, { key, word }] of steps.entries()) {
          if (i === cut) {
            await text.close()
            await text.open()
          }
          await text.write(word === undefined ? deleteOp(`k${key}`) : textOp(`k${key}`, word))
          if (word === undefined) expected.delete(`k${key}`)
          else expected.set(`k${key}`, word)
        }
        if (cut >= steps.length) {
          await text.close()
          await text.open()
        }
        await text.caughtUp()

        const keysOf = (wanted: string): string[] =>
          [...expected].flatMap(([key, word]) => (word === wanted ? [key] : [])).toSorted()
        expect(await text.find('tide')).to.deep.equal(keysOf('tide'))
        expect(await text.find('ebb')).to.deep.equal(keysOf('ebb'))
      }),
      { numRuns: 8 },
    )
  })

  it('walks the table as it was when its build began, however it grows at its end', async () => {
    await using text = await TextShard.open({ hasIndexes: false })
    await text.write(textOp('a', 'tide'), textOp('b', 'tide'))
    const source = sourceOf(text.shard, WORDS)
    const last = must(await readLastKey(source), 'a last key')
    await text.write(textOp('c', 'tide'), textOp('aa', 'tide'))

    const walked: string[] = []
    let after: Buffer | undefined
    for (;;) {
      const found = await readNextDocuments(source, { after, last }, systemClock)
      if (found === undefined) break
      walked.push(...found.changes.map(({ key }) => Buffer.from(key).toString()))
      after = found.last
    }

    expect(walked).to.deep.equal(['a', 'aa', 'b'])
  })

  it('continues a build that a clean stop interrupted, with what was written meanwhile', async () => {
    const heard = new BuildLog()
    await using text = await closedWithMany({ log: heard.log })

    await text.open()
    await until(async () => (await text.status()).backfillItemsProcessed > 0)
    await text.write(deleteOp('k0000'), textOp('k5999', 'ebb'), textOp('z', 'tide'))
    await text.close()
    const left = heard.documentsOf('text index is being built further')
    await text.open({ hasIndexes: false })
    await text.write(deleteOp('k0001'), textOp('k5998', 'ebb'))
    await text.close()
    await text.open()
    await text.caughtUp()

    expect(left).to.deep.equal([])
    const [continuedWith = 0] = heard.documentsOf('text index is being built further')
    expect(continuedWith).to.be.within(1, MANY - 1)
    expect(await text.find('ebb')).to.deep.equal(['k5998', 'k5999'])
    expect((await text.status()).totalIndexed).to.equal(MANY - 2 + 1)
    expect(await readdir(path.join(text.indexRoot, 'words-v0'))).to.not.include('backfill')
    expect(text.events.firstBuilds).to.equal(1)
  }).timeout(240_000)

  it('has no checkpoint until the whole table was walked, whatever the log brings meanwhile', async () => {
    const given = new GivenBatches()
    await using text = await closedWithMany({ pool: given.pool })

    await text.open()
    await until(async () => (await text.status()).backfillItemsProcessed > 0)
    while ((await text.status()).rebuilding) await text.write(textOp('meanwhile', 'ebb'))
    await text.caughtUp()

    const whole = given.sequencesWith('k5999')
    const fromLog = given.sequencesWith('meanwhile')
    expect(whole).to.deep.equal([0])
    expect(fromLog).to.include(0)
    expect(given.beforeFirstFlush.filter((sequence) => sequence > 0)).to.deep.equal([])
  }).timeout(240_000)

  const spoilt: Readonly<Record<string, (directory: string) => Promise<void>>> = {
    'is unreadable': (directory) => writeFile(path.join(directory, 'backfill'), '{'),
    'is of a later version': (directory) =>
      writeFile(path.join(directory, 'backfill'), '{"version":2}'),
    'is about another index': async (directory) => {
      const file = path.join(directory, 'backfill')
      const saved: object = JSON.parse(await readFile(file, 'utf8'))
      await writeFile(file, JSON.stringify({ ...saved, documents: 1 }))
    },
  }
  for (const [what, spoil] of Object.entries(spoilt)) {
    it(`begins a build again if what was saved of it ${what}`, async () => {
      const heard = new BuildLog()
      await using text = await closedWithMany({ log: heard.log })
      await text.open()
      await until(async () => (await text.status()).backfillItemsProcessed > 0)
      await text.close()

      await spoil(path.join(text.indexRoot, 'words-v0'))
      await text.open()
      await text.caughtUp()

      expect(heard.documentsOf('text index is being built further')).to.deep.equal([])
      expect((await text.status()).totalIndexed).to.equal(MANY)
    }).timeout(240_000)
  }

  it('slows a flood of writes down until it has nearly caught up', async () => {
    await using text = await TextShard.open()
    await text.find('nothing')
    const words = 'tide ebb flood calm storm swell surge drift wave foam '.repeat(1000)
    let written = 0
    let behindMost = 0
    for (let batch = 0; batch < 12; batch += 1) {
      const ops = Array.from({ length: 40 }, (_, i) => textOp(`k${batch}-${i}`, words))
      await text.write(...ops)
      written += ops.length
      const { totalIndexed } = await text.status()
      behindMost = Math.max(behindMost, (written - totalIndexed) * words.length)
    }

    // The batch that was let in when there was room just so comes on top.
    expect(behindMost).to.be.below(INDEX_LAG_BYTES_MAX + 2 * 40 * words.length)
    await text.caughtUp()
    expect((await text.status()).totalIndexed).to.equal(480)
  })

  it('keeps answering while new fields cannot be added to the list, and catches up afterwards', async () => {
    await using text = await TextShard.open()
    await text.write(textOp('a', 'tide'))
    await text.caughtUp()
    text.fields.isOutOfReach = true
    const json = Buffer.from('{"text":"tide","height":3}')
    await text.write({ ...textOp('b', ''), json })

    const meanwhile = await text.find('tide')
    text.fields.isOutOfReach = false
    await text.caughtUp()

    expect(meanwhile).to.deep.equal(['a'])
    expect(await text.find('tide')).to.deep.equal(['a', 'b'])
    expect(text.fields.known.map(nameOf)).to.deep.equal(['text', 'height'])
  })

  it('has the same fields after its worker died', async () => {
    await using text = await TextShard.open()
    await text.write(textOp('a', 'tide'))
    await text.find('tide')
    await text.fields.propose([{ path: ['height'], kind: 'number', documentType: undefined }])

    await text.pool.killThreads()
    const json = Buffer.from('{"text":"tide","height":"high"}')
    await text.write({ ...textOp('b', ''), json })
    await text.caughtUp()

    expect(await text.find('tide')).to.deep.equal(['a', 'b'])
    expect((await text.status()).dropped.fields).to.deep.equal({
      height: { badValues: 1, overLimit: 0 },
    })
  })

  it('replays unflushed changes when its worker dies', async () => {
    await using text = await TextShard.open()
    await text.write(textOp('a', 'tide'))
    await text.caughtUp()
    await text.find('tide')

    await text.pool.killThreads()
    await text.write(textOp('b', 'tide'))
    await text.caughtUp()

    expect(await text.find('tide')).to.deep.equal(['a', 'b'])
  })

  it('is built again in memory when its worker dies', async () => {
    await using text = await TextShard.open({
      indexes: [{ id: '0123456789abcdef', kind: 'text', name: 'words', memOnly: true }],
    })
    await text.write(textOp('a', 'tide'))
    await text.caughtUp()
    await text.find('tide')

    await text.pool.killThreads()

    expect(await text.find('tide')).to.deep.equal(['a'])
    expect((await text.status()).diskUsage).to.equal(0)
  })

  it('is built again when the log no longer reaches back to it', async () => {
    await using text = await TextShard.open()
    await text.write(textOp('a', 'tide'), textOp('b', 'tide'))
    await text.find('tide')
    await text.close()
    await text.open({ hasIndexes: false })
    for (const word of ['ebb', 'flood', 'calm']) await text.write(textOp('c', word), deleteOp('b'))
    await collectAll(text)
    await text.close()

    await text.open()

    expect(await text.find('tide')).to.deep.equal(['a'])
    expect(await text.find('calm')).to.deep.equal(['c'])
  })

  it('keeps the log from being collected beyond its checkpoint', async () => {
    await using text = await TextShard.open()
    await text.find('nothing')
    for (const word of ['ebb', 'flood', 'calm']) await text.write(textOp('c', word))
    await text.caughtUp()

    await collectAll(text)

    expect(await endOfLog(text.shard.store, 'oldest')).to.equal(1)
  })

  it('is built again from the documents when a file of it is damaged', async () => {
    await using text = await TextShard.open()
    await text.find('nothing')
    await text.write(textOp('a', 'tide'))
    await text.close()
    const directory = path.join(text.indexRoot, 'words-v0')
    for (const name of await readdir(directory)) await truncate(path.join(directory, name), 5)

    await text.open()

    expect(await text.find('tide')).to.deep.equal(['a'])
  })

  it('is built again when its mapping is lost', async () => {
    await using text = await TextShard.open()
    await text.find('nothing')
    await text.write(textOp('a', 'tide'))
    await text.close()
    await rm(path.join(text.indexRoot, 'words-v0', 'mapping'))

    await text.open()

    expect(await text.find('tide')).to.deep.equal(['a'])
  })

  it('answers during a change of the schema, and leaves one version on disk', async () => {
    await using text = await TextShard.open()
    await text.write(textOp('a', 'tide'))
    await text.find('tide')

    const changed = text.shard.led.setSettings(settingsOf({ schema: SCHEMA }))
    const during = await text.find('tide')
    await changed
    while ((await text.status()).rebuilding) await text.find('tide')
    await text.write(textOp('b', 'tide'))
    await text.caughtUp()

    expect(during).to.deep.equal(['a'])
    expect(await text.find('tide')).to.deep.equal(['a', 'b'])
    await text.close()
    expect(await readdir(text.indexRoot)).to.deep.equal(['words-v1'])
  })

  it('continues a change of the schema that a stop interrupted', async () => {
    await using text = await TextShard.open()
    await text.write(textOp('a', 'tide'))
    await text.find('tide')
    await text.close()

    await text.open({ schema: SCHEMA })

    expect(await text.find('tide')).to.deep.equal(['a'])
    while ((await text.status()).rebuilding) await text.find('tide')
    await text.close()
    expect(await readdir(text.indexRoot)).to.deep.equal(['words-v1'])
  })

  it('leaves the disk when it is dropped', async () => {
    await using text = await TextShard.open({
      indexes: [WORDS, { id: '0123456789abcdef', kind: 'text', name: 'more', memOnly: false }],
    })
    await text.find('nothing', 'more')

    await text.shard.led.setSettings(settingsOf({}))

    expect(await readdir(text.indexRoot)).to.deep.equal(['words-v0'])
    const gone = await text.find('nothing', 'more').catch((error: unknown) => error)
    expect(gone).to.include({ code: 'NOT_FOUND' })
  })

  it('does not find documents that have expired', async () => {
    const schema = parseTableSchema({ ttl_duration: '1h' }, undefined)
    await using text = await TextShard.open({ schema })
    const expiry = { kind: 'at', ms: systemClock.nowMs() - 1000 } as const
    await text.write({ ...textOp('a', 'tide'), expiry }, textOp('b', 'tide'))
    await text.caughtUp()

    expect(await text.find('tide')).to.deep.equal(['b'])
  })

  it('gives a search up at its deadline or when its client disconnects', async () => {
    await using text = await TextShard.open()
    await text.find('nothing')
    const search = (signal: AbortSignal, deadlineMs: number): Promise<unknown> =>
      text.shard
        .search('words', textSearch('tide'), { signal, deadlineMs })
        .catch((error: unknown) => error)
    const never = new AbortController().signal

    expect(await search(never, systemClock.monotonicMs())).to.include({ code: 'DEADLINE_EXCEEDED' })
    expect(await search(AbortSignal.abort(), Infinity)).to.include({ code: 'CANCELLED' })
  })

  it('stops waiting for an index with the signal', async () => {
    await using text = await TextShard.open()
    const waited = await text.shard
      .waitForIndexes({ signal: AbortSignal.abort(new RangeError('enough')) })
      .catch((error: unknown) => error)

    expect(waited).to.satisfy(
      (error: unknown) => error === undefined || error instanceof RangeError,
    )
  })
})
