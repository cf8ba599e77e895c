import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { messageOf, ServiceError } from '../../../../lib/errors.ts'
import { segmentFileName } from '../../../../node/journal/journal-format.ts'
import type { JournalDirectory, SegmentFile } from '../../../../node/journal/journal-directory.ts'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { errorOf } from '../../../support/error-of.ts'
import { failureOf } from '../../../support/failure-of.ts'
import { TextSource, textsOfLog } from '../../../support/worlds/journal-source.ts'
import { settle } from '../../../support/servers/swarm-harness.ts'
import { openTestJournal, TEST_SEGMENT_BYTES } from '../../../support/worlds/test-journal.ts'

const A = '000000000000000a'
const B = '000000000000000b'

/** Long enough for the end of the journal to be sealed. */
const IDLE_MS = 1000

const numbers = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at}`)

/** Writes entries one by one, so that each is a batch, and stops as a crash would. */
async function writeBatches(
  disk: FaultyDisk,
  count: number,
  clock = new ManualClock(),
): Promise<void> {
  const journal = await openTestJournal({ disk, clock })
  const source = new TextSource(journal, A)
  for (const text of numbers(count)) await source.append(text)
}

/** Where the bytes of a batch with this text lie, in the first segment. */
function offsetOfText(disk: FaultyDisk, text: string): number {
  const at = disk.directory.contentOf(segmentFileName(1)).indexOf(text)
  expect(at).to.be.greaterThan(0)
  return at
}

describe('Journal', () => {
  it('reads appended entries back, by log and in order', async () => {
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk })
    const [a, b] = [new TextSource(journal, A), new TextSource(journal, B)]
    await Promise.all([...numbers(3).map((text) => a.append(text)), b.append('of b')])
    await a.append('last')
    disk.restart()

    const again = await openTestJournal({ disk })

    expect(await textsOfLog(again, A)).to.deep.equal(['0', '1', '2', 'last'])
    expect(await textsOfLog(again, A, 2)).to.deep.equal(['2', 'last'])
    expect(await textsOfLog(again, B)).to.deep.equal(['of b'])
    expect(await textsOfLog(again, '00000000000000ff')).to.deep.equal([])
  })

  it('writes the ready entries of several logs as one batch', async () => {
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk })
    const sources = numbers(20).map((at) => new TextSource(journal, at.padStart(16, '0')))
    await sources[0]?.append('first')
    const before = disk.writeCount

    await Promise.all(sources.map((source) => source.append('x')))

    expect(disk.writeCount - before).to.equal(1)
  })

  it('writes unawaited entries with the next awaited ones', async () => {
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk, clock: new ManualClock() })
    const [a, b] = [new TextSource(journal, A), new TextSource(journal, B)]
    await a.append('first')
    const before = disk.writeCount
    const patient = a.append('patient', { isAwaited: false })
    await settle()
    expect(disk.writeCount - before).to.equal(0)

    await b.append('awaited')
    await patient

    expect(disk.writeCount - before).to.equal(1)
  })

  it('writes unawaited entries alone after a while, and before it closes', async () => {
    const disk = new FaultyDisk()
    const clock = new ManualClock()
    const journal = await openTestJournal({ disk, clock })
    const source = new TextSource(journal, A)
    await source.append('first')
    const patient = source.append('patient', { isAwaited: false })
    await settle()

    clock.advance(10)
    await patient
    const last = source.append('last', { isAwaited: false })
    await journal.close()
    await last

    expect(source.heard).to.deep.equal(['first', 'patient', 'last'])
  })

  it('reports entries only when they are durable, and in order (J2)', async () => {
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk })
    const source = new TextSource(journal, A)
    await source.append('0')
    disk.hold('before')
    const held = source.append('1')
    await disk.whenHeld()
    const behind = source.append('2')
    await settle()
    expect(source.heard).to.deep.equal(['0'])

    disk.release()
    await Promise.all([held, behind])

    expect(source.heard).to.deep.equal(['0', '1', '2'])
  })

  it('continues over many segments, and after a start', async () => {
    const disk = new FaultyDisk()
    const texts = numbers(20).map((text) => text.repeat(4000))
    for (const [at, text] of texts.entries()) {
      const journal = await openTestJournal({ disk })
      await new TextSource(journal, A, at).append(text)
      await journal.close()
    }

    const journal = await openTestJournal({ disk })

    expect(await textsOfLog(journal, A)).to.deep.equal(texts)
  })

  it('syncs the entries of a killed process before it continues', async () => {
    const disk = new FaultyDisk()
    await writeBatches(disk, 3)
    disk.restart()
    const directory = new RecordingDirectory(disk.directory)

    await openTestJournal({ disk, directory })

    // Behind these come those of new segments.
    expect(directory.synced.slice(0, 2)).to.deep.equal(['directory', segmentFileName(1)])
  })

  it('accepts an entry that is longer than a segment', async () => {
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk })
    const long = 'x'.repeat(3 * TEST_SEGMENT_BYTES)
    const source = new TextSource(journal, A)
    await source.append('before')
    await source.append(long)
    await source.append('after')
    disk.restart()

    const again = await openTestJournal({ disk })

    expect(await textsOfLog(again, A)).to.deep.equal(['before', long, 'after'])
  })

  it('refuses entries while the disk has no room, and accepts later ones', async () => {
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk })
    await new TextSource(journal, A).append('0')
    await journal.idle()
    disk.failWrites('DISK_FULL')
    const refused = new TextSource(journal, B)

    const error = await errorOf(() => refused.append('x'.repeat(2 * TEST_SEGMENT_BYTES)))
    disk.failWrites(undefined)
    await new TextSource(journal, A, 1).append('1')

    expect(error).to.include({ code: 'DISK_FULL' })
    disk.restart()
    const again = await openTestJournal({ disk })
    expect(await textsOfLog(again, A)).to.deep.equal(['0', '1'])
    expect(await textsOfLog(again, B)).to.deep.equal([])
  })

  it('ends the process when a write fails, and writes nothing more (J4)', async () => {
    const disk = new FaultyDisk()
    const failures: Error[] = []
    const journal = await openTestJournal({ disk, onFailure: (error) => failures.push(error) })
    const source = new TextSource(journal, A)
    await source.append('0')
    disk.directory.failNextWrite()

    const lost = await errorOf(() => source.append('1'))
    const later = await errorOf(() => new TextSource(journal, B).append('2'))

    expect(failures).to.have.length(1)
    for (const error of [lost, later]) expect(error).to.include({ code: 'UNAVAILABLE' })
    disk.restart()
    const again = await openTestJournal({ disk })
    expect([['0'], ['0', '1']]).to.deep.include(await textsOfLog(again, A))
    expect(await textsOfLog(again, B)).to.deep.equal([])
  })
})

describe('a damaged journal', () => {
  it('is cut before a write that a power failure interrupted', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const disk = new FaultyDisk(seed)
      const journal = await openTestJournal({ disk })
      const source = new TextSource(journal, A)
      for (const text of numbers(5)) await source.append(text)
      disk.crashAt(disk.writeCount + 1, 'before')
      await errorOf(() => source.append('x'.repeat(5000)))
      disk.restart()

      const again = await openTestJournal({ disk })

      const found = await textsOfLog(again, A)
      expect([numbers(5), [...numbers(5), 'x'.repeat(5000)]]).to.deep.include(found)
    }
  })

  it('is reported with file and offset when a bit before its end has flipped', async () => {
    const clean = new FaultyDisk()
    await writeBatches(clean, 8)
    const name = segmentFileName(1)
    const end = offsetOfText(clean, '7') - 64
    const length = clean.directory.contentOf(name).length
    expect(end).to.be.lessThan(length)

    for (let offset = 128; offset < end; offset += 7) {
      const disk = clean.image(1)
      disk.directory.flipBit(name, offset)
      const error = await failureOf(openTestJournal({ disk }))
      // Zeros between batches hold nothing that could be damaged.
      if (error === undefined) continue
      expect(error).to.include({ code: 'CORRUPTION' })
      expect(messageOf(error)).to.match(/^0+1\.journal of the journal is damaged at offset \d+/)
    }
  })

  it('never loses an entry silently, whichever bit has flipped', async () => {
    const clean = new FaultyDisk()
    const clock = new ManualClock()
    await writeBatches(clean, 4, clock)
    clock.advance(IDLE_MS) // so that the end is sealed
    await settle()
    const name = segmentFileName(1)
    const end = offsetOfText(clean, '3') + 16

    for (let offset = 0; offset < end; offset++) {
      const disk = clean.image(1)
      disk.directory.flipBit(name, offset)
      const found = openTestJournal({ disk }).then((journal) => textsOfLog(journal, A))
      const error = await failureOf(found)
      if (error === undefined) expect(await found, `bit at ${offset}`).to.deep.equal(numbers(4))
      else expect(error, `bit at ${offset}`).to.be.instanceOf(ServiceError)
    }
  })

  it('is reported when a segment in its middle is missing', async () => {
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk })
    const source = new TextSource(journal, A)
    for (const text of numbers(6)) await source.append(text.repeat(TEST_SEGMENT_BYTES / 2))
    await journal.idle()
    const names = (await disk.directory.list()).toSorted()
    await disk.directory.remove(names[1] ?? '')
    await disk.directory.sync()
    disk.restart()

    const error = await errorOf(() => openTestJournal({ disk }))

    expect(error).to.include({ code: 'CORRUPTION' })
    expect(String(error)).to.include('is missing')
  })

  it('is not reported for a document that looks like a batch', async () => {
    const disk = new FaultyDisk()
    await writeBatches(disk, 3)
    const copy = disk.directory.contentOf(segmentFileName(1)).subarray(128, 1024).toString('latin1')
    const journal = await openTestJournal({ disk })
    const source = new TextSource(journal, B)
    disk.crashAt(disk.writeCount + 1, 'before')
    await errorOf(() => source.append(copy.repeat(8)))
    disk.restart()

    const again = await openTestJournal({ disk })

    expect(await textsOfLog(again, A)).to.deep.equal(numbers(3))
  })
})

async function fill(source: TextSource, segments: number): Promise<void> {
  for (let at = 0; at < segments; at++) {
    await source.append('x'.repeat(TEST_SEGMENT_BYTES - 400))
    await settle()
  }
}

describe("the journal's old segments", () => {
  it('are removed when every log with entries in them has flushed (J3)', async () => {
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk })
    let written = 0
    const source = new TextSource(journal, A)
    journal.register(A, { flush: async () => written }, 0)
    for (; written < 40; written++) await fill(source, 1)

    expect(journal.keptBytes).to.be.at.most(6 * TEST_SEGMENT_BYTES)
    expect((await disk.directory.list()).length).to.be.at.most(8)
  })

  it('stay while one log has not flushed past them', async () => {
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk })
    const late = new TextSource(journal, B)
    await late.append('kept')
    const source = new TextSource(journal, A)
    await fill(source, 12)
    disk.restart()

    const again = await openTestJournal({ disk })

    expect(await textsOfLog(again, B)).to.deep.equal(['kept'])
  })

  it('stay for a log that is not open yet, until all existing logs are known', async () => {
    const disk = new FaultyDisk()
    await writeBatches(disk, 3)
    disk.restart()
    const journal = await openTestJournal({ disk })
    const b = new TextSource(journal, B)
    journal.register(B, { flush: async () => Infinity }, 0)
    await fill(b, 12)
    expect(await textsOfLog(journal, A)).to.deep.equal(numbers(3))

    journal.retainOnly(new Set([B]))
    await fill(b, 2)

    expect(await textsOfLog(journal, A)).to.deep.equal([])
  })

  it('are reused without a trace of their old content', async () => {
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk })
    const sources = [new TextSource(journal, A), new TextSource(journal, B)]
    const [a, b] = sources
    if (a === undefined || b === undefined) throw new RangeError('two sources')
    journal.register(A, { flush: async () => Infinity }, 0)
    await fill(a, 20)
    await fill(b, 3)
    await journal.close()
    disk.restart()

    const again = await openTestJournal({ disk })

    expect((await textsOfLog(again, B)).length).to.equal(3)
  })
})

/** Which files were synced by themselves, and when the directory was. */
class RecordingDirectory implements JournalDirectory {
  readonly synced: string[] = []
  readonly #inner: JournalDirectory

  constructor(inner: JournalDirectory) {
    this.#inner = inner
  }

  list = (): Promise<readonly string[]> => this.#inner.list()
  allocate = (name: string, bytes: number): Promise<void> => this.#inner.allocate(name, bytes)
  rename = (from: string, to: string): Promise<void> => this.#inner.rename(from, to)
  remove = (name: string): Promise<void> => this.#inner.remove(name)

  async open(name: string): Promise<SegmentFile> {
    const file = await this.#inner.open(name)
    return {
      write: (parts, position) => file.write(parts, position),
      read: (position, length) => file.read(position, length),
      size: () => file.size(),
      sync: () => {
        this.synced.push(name)
        return file.sync()
      },
      close: () => file.close(),
    }
  }

  sync(): Promise<void> {
    this.synced.push('directory')
    return this.#inner.sync()
  }
}
