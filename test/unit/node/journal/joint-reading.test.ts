import { expect } from 'chai'
import { errorOf } from '../../../support/error-of.ts'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { countTo } from '../../../support/loads/load.ts'
import { TextSource } from '../../../support/worlds/journal-source.ts'
import { openTestJournal, TEST_SEGMENT_BYTES } from '../../../support/worlds/test-journal.ts'
import type { Journal } from '../../../../node/journal/journal.ts'
import type { JournalDirectory } from '../../../../node/journal/journal-directory.ts'
import type { JournalEntry } from '../../../../node/journal/journal-reader.ts'

const LOGS = 256
const ROUNDS = 40
const nameOf = (log: number): string => log.toString(16).padStart(16, '0')

/** Counts what is opened, and what is read. */
function counted(directory: JournalDirectory) {
  const counts = { opens: 0, reads: 0, bytes: 0 }
  const watched: JournalDirectory = new Proxy(directory, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name)
      if (typeof found !== 'function') return found
      if (name !== 'open') return found.bind(target)
      return async (file: string) => {
        counts.opens += 1
        const opened = await target.open(file)
        return new Proxy(opened, {
          get(of, method) {
            const part: unknown = Reflect.get(of, method)
            if (typeof part !== 'function') return part
            if (method !== 'read') return part.bind(of)
            return async (at: number, length: number) => {
              const bytes = await of.read(at, length)
              counts.reads += 1
              counts.bytes += bytes.length
              return bytes
            }
          },
        })
      }
    },
  })
  return { counts, watched }
}

/** Changes a byte of the text wherever it is read. */
function damagingReads(
  directory: JournalDirectory,
  text: Buffer,
  isBroken: () => boolean,
): JournalDirectory {
  return new Proxy(directory, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name)
      if (typeof found !== 'function') return found
      if (name !== 'open') return found.bind(target)
      return async (file: string) => {
        const opened = await target.open(file)
        return new Proxy(opened, {
          get(of, method) {
            const part: unknown = Reflect.get(of, method)
            if (typeof part !== 'function') return part
            if (method !== 'read') return part.bind(of)
            return async (at: number, length: number) => {
              const bytes = Buffer.from(await of.read(at, length))
              const place = bytes.indexOf(text)
              if (isBroken() && place >= 0) bytes.writeUInt8(0, place)
              return bytes
            }
          },
        })
      }
    },
  })
}

/** A journal in which every log has an entry of each round, and every round is one batch. */
async function writeLogs(disk: FaultyDisk): Promise<void> {
  const journal = await openTestJournal({ disk })
  const sources = countTo(LOGS).map((log) => new TextSource(journal, nameOf(log)))
  for (const round of countTo(ROUNDS)) {
    await Promise.all(
      sources.map((source, log) => source.append(`${log}/${round}/${'x'.repeat(50)}`)),
    )
  }
  disk.restart()
}

const textsOf = (entries: readonly JournalEntry[]): readonly string[] =>
  entries.map(({ sequence, body }) => `${sequence} ${body.toString()}`)

async function all(pages: AsyncIterable<readonly JournalEntry[]>): Promise<readonly string[]> {
  const texts: string[] = []
  for await (const page of pages) texts.push(...textsOf(page))
  return texts
}

const together = (journal: Journal) => journal.readTogether(new Set(countTo(LOGS).map(nameOf)))

describe('JointReading', function () {
  this.timeout(60_000)

  it('gives each log what a reading of its own gives it, and reads every segment once', async () => {
    const disk = new FaultyDisk()
    await writeLogs(disk)
    const { counts, watched } = counted(disk.directory)
    const journal = await openTestJournal({ directory: watched })
    const { segments } = { segments: Math.ceil(journal.keptBytes / TEST_SEGMENT_BYTES) }
    const before = { ...counts }

    const reading = together(journal)
    const found = await Promise.all(
      countTo(LOGS).map((log) => all(reading.entries(nameOf(log), log % 30))),
    )

    expect(segments).to.be.greaterThan(5)
    expect(counts.opens - before.opens).to.be.at.most(segments)
    // The header, and what fits into a window: more than a segment of this test.
    expect(counts.reads - before.reads).to.be.at.most(2 * segments)
    for (const log of [0, 29, 30, 100, LOGS - 1]) {
      expect(found[log]).to.deep.equal(await all(journal.entries(nameOf(log), log % 30)))
      expect(found[log]).to.have.length(ROUNDS - (log % 30))
    }
  })

  it('waits for all readers before it reads more', async () => {
    const disk = new FaultyDisk()
    await writeLogs(disk)
    const { counts, watched } = counted(disk.directory)
    const journal = await openTestJournal({ directory: watched })
    const before = counts.reads
    const reading = together(journal)
    const slow = reading.entries(nameOf(0), 0)
    const others = countTo(LOGS - 1).map((log) => all(reading.entries(nameOf(log + 1), 0)))
    await slow.next()
    const [afterFirst] = [counts.reads]
    for (const _ of countTo(50)) await new Promise((resolve) => setImmediate(resolve))

    expect(counts.reads).to.equal(afterFirst)
    expect(afterFirst - before).to.be.at.most(2)
    await slow.return(undefined)
    for (const texts of await Promise.all(others)) expect(texts).to.have.length(ROUNDS)
  })

  it('does not wait for a log that leaves before or in the middle', async () => {
    const disk = new FaultyDisk()
    await writeLogs(disk)
    const journal = await openTestJournal({ disk })
    const reading = together(journal)
    reading.leave(nameOf(0))
    const failing = (async () => {
      for await (const _ of reading.entries(nameOf(1), 0)) throw new Error('its store is full')
    })()

    const others = countTo(LOGS - 2).map((log) => all(reading.entries(nameOf(log + 2), 0)))

    expect(String(await errorOf(() => failing))).to.include('its store is full')
    for (const texts of await Promise.all(others)) expect(texts).to.have.length(ROUNDS)
  })

  it('tells every reader of a segment that cannot be read', async () => {
    const disk = new FaultyDisk()
    await writeLogs(disk)
    const failing: JournalDirectory = new Proxy(disk.directory, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name)
        if (name === 'open' && isBroken) return () => Promise.reject(new Error('no such disk'))
        return typeof found === 'function' ? found.bind(target) : found
      },
    })
    let isBroken = false
    const journal = await openTestJournal({ directory: failing })
    isBroken = true
    const reading = together(journal)

    const errors = await Promise.all(
      countTo(LOGS).map((log) => errorOf(() => all(reading.entries(nameOf(log), 0)))),
    )

    expect(new Set(errors.map(String))).to.deep.equal(new Set(['Error: no such disk']))
  })

  it('fails the logs of a damaged batch, and no others', async () => {
    const disk = new FaultyDisk()
    const first = await openTestJournal({ disk })
    const [alone, other] = [new TextSource(first, nameOf(0)), new TextSource(first, nameOf(1))]
    await other.append('before')
    await alone.append('damaged')
    await other.append('behind')
    disk.restart()
    let isBroken = false
    const journal = await openTestJournal({
      directory: damagingReads(disk.directory, Buffer.from('damaged'), () => isBroken),
    })
    isBroken = true
    const reading = journal.readTogether(new Set([nameOf(0), nameOf(1)]))

    const [damaged, whole] = await Promise.all([
      errorOf(() => all(reading.entries(nameOf(0), 0))),
      all(reading.entries(nameOf(1), 0)),
    ])

    expect(damaged).to.include({ code: 'CORRUPTION' })
    expect(whole).to.deep.equal(['1 before', '2 behind'])
  })

  it('ends at once without logs, and for logs without entries', async () => {
    const journal = await openTestJournal()
    journal.readTogether(new Set())
    const reading = journal.readTogether(new Set([nameOf(1)]))

    expect(await all(reading.entries(nameOf(1), 0))).to.deep.equal([])
  })
})

describe('GatheredReading', function () {
  this.timeout(60_000)

  it('reads what is asked for in one turn in one pass, as each log by itself', async () => {
    const disk = new FaultyDisk()
    await writeLogs(disk)
    const { counts, watched } = counted(disk.directory)
    const journal = await openTestJournal({ directory: watched })
    const segments = Math.ceil(journal.keptBytes / TEST_SEGMENT_BYTES)
    const before = { ...counts }

    const found = await Promise.all(
      countTo(LOGS).map((log) => all(journal.gathered.entries(nameOf(log), log % 30))),
    )

    expect(counts.opens - before.opens).to.be.at.most(segments)
    expect(counts.reads - before.reads).to.be.at.most(2 * segments)
    for (const log of [0, 29, 30, LOGS - 1]) {
      expect(found[log]).to.deep.equal(await all(journal.entries(nameOf(log), log % 30)))
    }
  })

  it('gathers what comes during a pass for the next one', async () => {
    const disk = new FaultyDisk()
    await writeLogs(disk)
    const { counts, watched } = counted(disk.directory)
    const journal = await openTestJournal({ directory: watched })
    const segments = Math.ceil(journal.keptBytes / TEST_SEGMENT_BYTES)
    const before = { ...counts }
    const first = journal.gathered.entries(nameOf(0), 0)
    await first.next() // the pass waits for this reader now

    const others: Promise<readonly string[]>[] = []
    for (const log of countTo(LOGS - 1)) {
      others.push(all(journal.gathered.entries(nameOf(log + 1), 0)))
      if (log % 16 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    const rest = await all(first)

    for (const texts of await Promise.all(others)) expect(texts).to.have.length(ROUNDS)
    expect(rest.length).to.be.below(ROUNDS)
    expect(counts.opens - before.opens).to.be.at.most(2 * segments)
  })

  it('reads a log that is asked for twice, and after readers that left', async () => {
    const disk = new FaultyDisk()
    await writeLogs(disk)
    const journal = await openTestJournal({ disk })
    const left = journal.gathered.entries(nameOf(1), 0)
    const twice = [0, 0].map((above) => all(journal.gathered.entries(nameOf(0), above)))
    await left.next()
    await left.return(undefined)

    for (const texts of await Promise.all(twice)) expect(texts).to.have.length(ROUNDS)
    expect(await all(journal.gathered.entries(nameOf(1), 0))).to.have.length(ROUNDS)
  })
})
