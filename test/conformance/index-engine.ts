// What every engine behind the seam of index workers promises (node/index/host/index-engine.ts).

import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { runAtOnce } from '../../lib/sliced.ts'
import { DISK_WORK_HERE, type DiskWork } from '../../node/index/files/disk-work.ts'
import { packBatch, type DocumentChange } from '../../node/index/host/document-batch.ts'
import { QUESTIONS } from '../../node/index/host/index-engine.ts'
import type {
  AskedQuestion,
  EngineFamily,
  IndexEngine,
  IndexOpening,
  Question,
  TakenBatch,
} from '../../node/index/host/index-engine.ts'
import type { IndexDivision } from '../../node/index/host/index-kind.ts'
import type { TableField } from '../../node/schema/table-field.ts'
import { errorOf } from '../support/error-of.ts'
import { failureOf } from '../support/failure-of.ts'
import { HeldDiskWork } from '../support/fakes/held-disk-work.ts'
import { IndexReader } from '../support/worlds/index-reader.ts'

/** A kind of index, and how to ask it for the documents that have `word` in the field `text`. */
export interface EngineUnderTest {
  readonly kind: string
  openFamily(disk: DiskWork): EngineFamily
  find(word: string): AskedQuestion
  /** What the definition of an index of the kind has besides. */
  readonly settings?: unknown
  /** What the log brings of a document with the word in the field `text`. Default: its JSON. */
  readonly change?: (key: string, text: string) => DocumentChange
  /** All others are refused. */
  readonly answers: readonly Question[]
  /** The keys that the answer names. */
  keysOf(answer: unknown): readonly string[]
  /** Set for a kind whose engines divide answers. */
  readonly division?: IndexDivision
  /** A file of a flushed index, damage of which has to be noticed when the index is opened. */
  isVital(file: string): boolean
}

export function describeIndexEngine(name: string, tested: EngineUnderTest): void {
  describe(`${name} as an index engine`, () => {
    const put = tested.change ?? jsonChange
    let root = ''
    let fields: TableField[] = []

    beforeEach(() => {
      root = mkdtempSync(path.join(tmpdir(), 'quarry-engine-'))
      fields = []
    })

    afterEach(() => rmSync(root, { recursive: true, force: true }))

    function open(directory: string | undefined = path.join(root, 'index')): Opened {
      return new Opened(tested, fields, { directory })
    }

    /** One that exists, so that its opening writes nothing. */
    function openOn(disk: DiskWork): Opened {
      {
        using made = open()
        made.apply(1, [put('a', 'tide')])
        runAtOnce(made.engine.flush(1))
      }
      return new Opened(tested, fields, { directory: path.join(root, 'index'), disk })
    }

    it('finds applied documents, but not replaced or deleted ones', () => {
      using index = open()
      index.apply(1, [put('a', 'tide'), put('b', 'tide'), put('c', 'tide')])
      index.apply(2, [put('a', 'road'), remove('b')])

      expect(index.find('tide')).to.deep.equal(['c'])
      expect(index.find('road')).to.deep.equal(['a'])
      expect(index.engine.report().documents).to.equal(2)
    })

    it('does not change when a batch is applied again', () => {
      using index = open()
      index.apply(1, [put('b', 'tide')])

      for (const sequence of [3, 3]) index.apply(sequence, [put('a', 'tide'), remove('b')])

      expect(index.find('tide')).to.deep.equal(['a'])
      expect(index.engine.report().documents).to.equal(1)
    })

    it('reopens at its checkpoint after a crash, without later changes', () => {
      const first = open()
      first.apply(1, [put('a', 'tide'), put('b', 'tide')])
      runAtOnce(first.engine.flush(5))
      const flushed = first.engine.checkpoint
      first.apply(6, [put('c', 'tide'), remove('a')])
      const before = first.engine.checkpoint
      first.engine.close()

      using second = open()

      expect([flushed, before, second.engine.checkpoint]).to.deep.equal([5, 5, 5])
      expect(second.find('tide')).to.deep.equal(['a', 'b'])
    })

    it('finds the same before, during and after a flush and its maintenance', () => {
      using index = open()
      for (let sequence = 1; sequence <= 6; sequence += 1) {
        index.apply(sequence, [put(`k${sequence}`, 'tide'), put('same', 'tide')])
        const expected = index.find('tide')
        for (const _ of index.engine.flush(sequence)) {
          expect(index.find('tide')).to.deep.equal(expected)
        }
        expect(index.find('tide')).to.deep.equal(expected)
      }
      const found = index.find('tide')
      while (index.engine.maintain()) expect(index.find('tide')).to.deep.equal(found)

      expect(found).to.have.length(7)
      expect(index.engine.checkpoint).to.equal(6)
    })

    it('frees memory when it makes room', () => {
      using index = open()
      index.apply(1, [put('a', 'tide '.repeat(1000))])
      const held = index.engine.unflushedBytes

      for (let steps = 0; steps < 1000 && index.engine.unflushedBytes >= held; steps += 1) {
        void index.engine.makeRoom()
      }

      expect(held).to.be.above(0)
      expect(index.engine.unflushedBytes).to.be.below(held)
    })

    it('is searched and written while the disk syncs, and moves its checkpoint afterwards', async () => {
      const disk = new HeldDiskWork()
      using index = openOn(disk)
      index.apply(2, [put('b', 'tide')])
      const expected = ['a', 'b']
      const flushing = index.engine.flush(2)
      let waits = 0
      for (let step = flushing.next(); step.done !== true; step = flushing.next()) {
        if (step.value === undefined) continue
        expect(index.engine.checkpoint).to.equal(1)
        waits += 1
        expected.push(`c${waits}`)
        index.apply(2 + waits, [put(`c${waits}`, 'tide')])
        expect(index.find('tide')).to.have.members(expected)
        // A merge may be under way beside it, which waits in the end, too.
        while (index.engine.maintain()) expect(index.find('tide')).to.have.members(expected)
        expect(index.engine.checkpoint).to.equal(1)
        while (disk.heldCount > 0) disk.release()
        await step.value
      }

      expect(waits).to.be.above(2)
      expect(index.engine.checkpoint).to.be.at.least(2)
      expect(index.find('tide')).to.have.members(expected)
    })

    it('flushes nothing more when it is closed while the disk syncs, and leaves no file open', async () => {
      const disk = new HeldDiskWork()
      const index = openOn(disk)
      index.apply(2, [put('b', 'tide')])
      const flushing = index.engine.flush(2)
      while (flushing.next().value === undefined);

      index.engine.close()
      while (disk.heldCount > 0) disk.release()
      await Promise.resolve()
      const failure = await errorOf(() => {
        while (flushing.next().done !== true) if (disk.heldCount > 0) disk.release()
      })
      using reopened = open()

      expect(failure).to.include({ code: 'UNAVAILABLE' })
      expect(disk.openCount).to.equal(0)
      expect(reopened.engine.checkpoint).to.be.oneOf([1, 2])
    })

    it('fails to flush when a sync fails, and opens at a checkpoint again', async () => {
      for (let failing = 0; ; failing += 1) {
        rmSync(path.join(root, 'index'), { recursive: true, force: true })
        const disk = new HeldDiskWork()
        const index = openOn(disk)
        index.apply(2, [put('b', 'tide')])
        const failure = await failureOf(flushFailing(index.engine, disk, failing))
        const { checkpoint } = index.engine
        index.engine.close()
        using reopened = open()

        expect(reopened.engine.checkpoint).to.be.within(checkpoint, 2)
        expect(reopened.find('tide')).to.have.length(reopened.engine.checkpoint)
        expect(disk.openCount).to.equal(0)
        if (failure === undefined) {
          expect(failing).to.be.above(2)
          return
        }
        expect(failure).to.have.property('message', 'the disk lost it')
        expect(checkpoint).to.equal(1)
      }
    })

    it('answers with the documents of its first step, and may be abandoned at any step', () => {
      using index = open()
      const changes = Array.from({ length: 300 }, (_, i) => put(`k${i}`, 'tide'))
      index.apply(1, changes)
      const work = index.engine.answer(tested.find('tide'))
      const left = index.engine.answer(tested.find('tide'))
      const [first] = [work.next(), left.next()]

      index.apply(2, [remove('k0'), put('new', 'tide')])
      left.return(undefined)
      const answer = first.done === true ? first.value : runAtOnce(work)

      expect(tested.keysOf(answer)).to.have.length(300)
      expect(index.find('tide')).to.have.length(300).and.include('new')
    })

    it('answers with data that structuredClone copies', () => {
      using index = open()
      index.apply(1, [put('a', 'tide')])

      const answer = runAtOnce(index.engine.answer(tested.find('tide')))

      expect(structuredClone(answer)).to.deep.equal(answer)
    })

    for (const question of QUESTIONS.filter((one) => !tested.answers.includes(one))) {
      it(`refuses the question ${question}`, async () => {
        using index = open()
        const { request } = tested.find('tide')

        const refusal = await errorOf(() => runAtOnce(index.engine.answer({ question, request })))

        expect(refusal).to.include({ code: 'INVALID_ARGUMENT' })
      })
    }

    it('takes snapshots that open at the checkpoint', () => {
      using index = open()
      index.apply(1, [put('a', 'tide')])
      runAtOnce(index.engine.flush(1))
      index.apply(2, [put('b', 'tide')])
      const copy = path.join(root, 'copy')
      mkdirSync(copy)

      const { checkpoint, files } = index.engine.snapshot(copy)
      runAtOnce(index.engine.flush(2))
      while (index.engine.maintain());
      using copied = open(copy)

      expect(checkpoint).to.equal(1)
      expect(files.map(({ name: file }) => file)).to.have.members(readdirSync(copy))
      for (const { name: file, bytes } of files) {
        expect(statSync(path.join(copy, file)).size).to.equal(bytes)
      }
      expect(copied.engine.checkpoint).to.equal(1)
      expect(copied.find('tide')).to.deep.equal(['a'])
    })

    it('refuses damaged files', async () => {
      const directory = path.join(root, 'index')
      const first = open(directory)
      first.apply(1, [put('a', 'tide')])
      runAtOnce(first.engine.flush(1))
      first.engine.close()
      const vital = readdirSync(directory).filter((file) => tested.isVital(file))
      for (const file of vital) writeFileSync(path.join(directory, file), 'damage')

      const refusal = await errorOf(() => open(directory))

      expect(vital).to.not.deep.equal([])
      expect(refusal).to.include({ code: 'CORRUPTION' })
    })

    it('writes no files and takes no snapshots when it is in memory alone', async () => {
      using index = new Opened(tested, fields, { directory: undefined })
      index.apply(4, [put('a', 'tide')])
      runAtOnce(index.engine.flush(4))

      expect(index.find('tide')).to.deep.equal(['a'])
      expect(index.engine.report().bytesOnDisk).to.equal(0)
      expect(readdirSync(root)).to.deep.equal([])
      expect(await errorOf(() => index.engine.snapshot(root))).to.include({
        code: 'INVALID_ARGUMENT',
      })
    })

    if (tested.division !== undefined) describeDivision(tested, tested.division, open)
  })
}

/** The sync with this number fails, from 0. */
async function flushFailing(
  engine: IndexEngine,
  disk: HeldDiskWork,
  failing: number,
): Promise<void> {
  const flushing = engine.flush(2)
  let count = 0
  for (let step = flushing.next(); step.done !== true; step = flushing.next()) {
    if (step.value === undefined) continue
    if (count === failing) disk.fail(new Error('the disk lost it'))
    else disk.release()
    count += 1
    await step.value
  }
}

/** How an index is opened, in the directory of the test by default. */
type Open = () => Opened

function describeDivision(tested: EngineUnderTest, division: IndexDivision, open: Open): void {
  const put = tested.change ?? jsonChange

  it('answers in parts as it answers undivided, whenever it is asked', () => {
    using index = open()
    using reader = new IndexReader(index, division)
    let dividedCount = 0
    const expectAgreement = (): void => {
      for (const word of ['tide', 'road', 'none']) {
        const whole = runAtOnce(index.engine.answer(tested.find(word)))
        const found = reader.find(tested.find(word))
        expect(found.answer).to.deep.equal(whole)
        if (found.isDivided) dividedCount += 1
      }
    }
    for (let sequence = 1; sequence <= 24; sequence += 1) {
      const words = sequence % 3 === 0 ? 'road tide' : 'tide '.repeat(1 + (sequence % 4))
      const changes = [put(`k${sequence}`, words), put('same', words), remove(`k${sequence - 4}`)]
      index.apply(sequence, changes)
      expectAgreement()
      if (sequence % 2 === 0) continue
      for (const _ of index.engine.flush(sequence)) expectAgreement()
      if (sequence % 6 === 1) while (index.engine.maintain()) expectAgreement()
    }

    expect(dividedCount).to.be.above(20)
  })

  it('divides what was there at the first step, whatever is done before the rest is asked', () => {
    using index = open()
    using reader = new IndexReader(index, division)
    for (let sequence = 1; sequence <= 5; sequence += 1) {
      index.apply(sequence, [put(`k${sequence}`, 'tide'), put(`r${sequence}`, 'tide road')])
      runAtOnce(index.engine.flush(sequence))
    }
    index.apply(6, [put('new', 'tide'), remove('r1')])
    const whole = runAtOnce(index.engine.answer(tested.find('tide')))

    const finish = reader.begin(tested.find('tide'))
    index.apply(7, [remove('k1'), put('k2', 'road'), remove('new'), put('k9', 'tide')])
    for (let sequence = 8; sequence < 16; sequence += 1) {
      index.apply(sequence, [put(`k${sequence}`, 'tide')])
      runAtOnce(index.engine.flush(sequence))
    }
    while (index.engine.maintain());

    expect(finish()).to.deep.equal(whole)
    expect(tested.keysOf(whole)).to.have.length(10)
  })

  it('has readers that are given parts in another order than they were divided', () => {
    using index = open()
    using reader = new IndexReader(index, division)
    index.apply(1, [put('a', 'tide'), put('b', 'tide'), put('c', 'tide')])
    runAtOnce(index.engine.flush(1))
    reader.find(tested.find('tide'))
    const first = reader.begin(tested.find('tide'))
    index.apply(2, [remove('a')])
    const second = reader.begin(tested.find('tide'))
    index.apply(3, [remove('b')])
    const third = reader.begin(tested.find('tide'))

    const found = [third(), first(), second()].map((answer) => tested.keysOf(answer).toSorted())

    expect(found).to.deep.equal([['c'], ['a', 'b', 'c'], ['b', 'c']])
  })

  it('has readers that refuse what they cannot know, and are told it again', async () => {
    using index = open()
    index.apply(1, [put('a', 'tide')])
    runAtOnce(index.engine.flush(1))
    using taught = new IndexReader(index, division)
    taught.find(tested.find('tide'))
    using ignorant = new IndexReader(index, division)

    const refusal = await errorOf(() => ignorant.find(tested.find('tide'), taught.known))

    expect(refusal).to.include({ code: 'UNAVAILABLE' })
    expect(tested.keysOf(ignorant.find(tested.find('tide')).answer)).to.deep.equal(['a'])
  })
}

interface Place {
  readonly directory: string | undefined
  /** Default: this thread syncs. */
  readonly disk?: DiskWork
}

/** An engine beside its table's list of fields, which takes whatever documents bring. */
class Opened implements Disposable {
  readonly family: EngineFamily
  readonly engine: IndexEngine
  readonly #tested: EngineUnderTest
  readonly #fields: TableField[]

  constructor(
    tested: EngineUnderTest,
    fields: TableField[],
    { directory, disk = DISK_WORK_HERE }: Place,
  ) {
    const opening: IndexOpening = {
      definition: {
        id: '0123456789abcdef',
        kind: tested.kind,
        name: 'tested',
        memOnly: directory === undefined,
        settings: tested.settings,
      },
      directory,
      source: { kind: 'given', schema: undefined },
      fields: [...fields],
    }
    this.family = tested.openFamily(disk)
    const opened = runAtOnce(this.family.open(opening))
    if (opened.kind === 'outdated') throw new TypeError(opened.outdated.reason)
    this.engine = opened.engine
    this.#tested = tested
    this.#fields = fields
  }

  apply(sequence: number, changes: readonly DocumentChange[]): void {
    for (let left = changes; ;) {
      const batch = packBatch(sequence, left)
      const { taken, undecided }: TakenBatch = runAtOnce(this.engine.apply(batch, () => undefined))
      if (taken === left.length) return
      this.#fields.push(...undecided)
      runAtOnce(this.engine.learn(this.#fields))
      left = left.slice(taken)
    }
  }

  find(word: string): readonly string[] {
    const answer = runAtOnce(this.engine.answer(this.#tested.find(word)))
    return this.#tested.keysOf(answer).toSorted()
  }

  [Symbol.dispose](): void {
    this.engine.close()
  }
}

function jsonChange(key: string, text: string): DocumentChange {
  const json = Buffer.from(JSON.stringify({ text }))
  return { key: Buffer.from(key), json, expiresAtMs: 0 }
}

function remove(key: string): DocumentChange {
  return { key: Buffer.from(key), json: undefined, expiresAtMs: 0 }
}
