import { expect } from 'chai'
import { InvariantError } from '../../../../lib/assert.ts'
import { ManualClock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Journal } from '../../../../node/journal/journal.ts'
import {
  BATCH_ALIGNMENT,
  crcOfEntry,
  segmentFileName,
  setRowCrc,
  setRowKind,
} from '../../../../node/journal/journal-format.ts'
import { appendedMark } from '../../../../node/journal/log-mark.ts'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { errorOf } from '../../../support/error-of.ts'
import { failureOf } from '../../../support/failure-of.ts'
import { settle } from '../../../support/servers/swarm-harness.ts'
import { textsOfLog } from '../../../support/worlds/journal-source.ts'
import { LOG_BEGIN, ReplicaSource } from '../../../support/worlds/replica-source.ts'
import { openTestJournal, TEST_SEGMENT_BYTES } from '../../../support/worlds/test-journal.ts'

const A = '000000000000000a'
const B = '000000000000000b'

/** Long enough for the end of the journal to be sealed. */
const IDLE_MS = 1000
const LONG = 'x'.repeat(TEST_SEGMENT_BYTES - 1000)

function openMarked(disk: FaultyDisk, clock = new ManualClock()): Promise<Journal> {
  return openTestJournal({ disk, clock, mayMark: true })
}

async function reopened(disk: FaultyDisk): Promise<Journal> {
  disk.restart()
  return openMarked(disk)
}

async function becomeIdle(clock: ManualClock): Promise<void> {
  await settle()
  clock.advance(IDLE_MS)
  await settle()
}

async function appendAll(source: ReplicaSource, texts: readonly string[]): Promise<void> {
  for (const text of texts) await source.append(text)
}

describe('a truncated log', () => {
  it('has the entries before the truncation and those after it, at once and after a start', async () => {
    const disk = new FaultyDisk()
    const journal = await openMarked(disk)
    const a = new ReplicaSource(journal, A)
    await appendAll(a, ['1', '2'])
    const kept = a.last
    await appendAll(a, ['3', '4'])
    await a.truncate(kept)
    await a.append('3 anew', 1)

    expect(await textsOfLog(journal, A)).to.deep.equal(['1', '2', '3 anew'])
    expect(await textsOfLog(journal, A, 2)).to.deep.equal(['3 anew'])
    expect(await textsOfLog(await reopened(disk), A)).to.deep.equal(['1', '2', '3 anew'])
  })

  it('may be truncated in the middle of a batch', async () => {
    const disk = new FaultyDisk()
    const journal = await openMarked(disk)
    const a = new ReplicaSource(journal, A)
    await a.append('1')
    const kept = a.last
    const before = disk.writeCount
    await Promise.all([a.append('2'), a.append('3'), a.truncate(kept), a.append('2 anew', 1)])

    expect(disk.writeCount - before).to.equal(1)
    expect(await textsOfLog(journal, A)).to.deep.equal(['1', '2 anew'])
    expect(await textsOfLog(await reopened(disk), A)).to.deep.equal(['1', '2 anew'])
  })

  it('may be truncated again, higher and lower', async () => {
    const disk = new FaultyDisk()
    const a = new ReplicaSource(await openMarked(disk), A)
    await a.append('1')
    const first = a.last
    await a.append('2')
    const second = a.last
    await a.append('3')
    await a.truncate(second)
    await appendAll(a, ['3b', '4b'])
    await a.truncate(first)
    await a.append('2c', 2)
    const third = a.last
    await appendAll(a, ['3c', '4c'])
    await a.truncate(third)
    await a.append('3d', 3)

    expect(await textsOfLog(await reopened(disk), A)).to.deep.equal(['1', '2c', '3d'])
  })

  it('loses entries of earlier segments, and no other log loses any', async () => {
    const disk = new FaultyDisk()
    const journal = await openMarked(disk)
    const [a, b] = [new ReplicaSource(journal, A), new ReplicaSource(journal, B)]
    for (const owner of [A, B]) journal.register(owner, { flush: async () => 0 }, 0)
    await appendAll(a, ['1', '2'])
    const kept = a.last
    await appendAll(b, ['b1', 'b2', 'b3'])
    await appendAll(a, ['3', LONG, LONG])
    await a.truncate(kept)
    await appendAll(a, ['3 anew', LONG])

    const again = await reopened(disk)

    expect(await textsOfLog(again, A)).to.deep.equal(['1', '2', '3 anew', LONG])
    expect(await textsOfLog(again, B)).to.deep.equal(['b1', 'b2', 'b3'])
  })

  it('does not keep the segments of entries that no longer count', async () => {
    const disk = new FaultyDisk()
    const journal = await openMarked(disk)
    const [a, b] = [new ReplicaSource(journal, A), new ReplicaSource(journal, B)]
    journal.register(A, { flush: async () => 1 }, 0)
    journal.register(B, { flush: async () => b.last.sequence }, 0)
    await a.append('1')
    const kept = a.last
    await appendAll(a, [LONG, LONG])
    await a.truncate(kept)
    await appendAll(
      b,
      Array.from({ length: 20 }, () => LONG),
    )
    await settle()

    expect(journal.keptBytes).to.be.at.most(6 * TEST_SEGMENT_BYTES)
  })

  it('begins anew after a snapshot', async () => {
    const disk = new FaultyDisk()
    const journal = await openMarked(disk)
    const a = new ReplicaSource(journal, A)
    await appendAll(a, ['1', '2', '3'])
    await a.restart({ sequence: 2, epoch: 7, crc: 0x01020304 })
    await a.append('3 of the snapshot')

    expect(await textsOfLog(journal, A)).to.deep.equal(['3 of the snapshot'])
    expect(await textsOfLog(await reopened(disk), A)).to.deep.equal(['3 of the snapshot'])
  })

  for (const kind of ['truncate', 'restart'] as const) {
    it(`is never cut below what is committed: ${kind}`, async () => {
      const disk = new FaultyDisk()
      const failures: Error[] = []
      const onFailure = (error: Error): unknown => failures.push(error)
      const journal = await openTestJournal({ disk, mayMark: true, onFailure })
      const a = new ReplicaSource(journal, A)
      await a.append('1')
      const first = a.last
      await a.append('2')
      journal.committed(A, 2)
      await a.append('3')
      const before = disk.writeCount

      const refused = await failureOf(a[kind](first))

      expect(refused).to.include({ code: 'UNAVAILABLE' })
      expect(failures[0]).to.be.instanceOf(InvariantError)
      expect(disk.writeCount).to.equal(before)
      expect(await textsOfLog(await reopened(disk), A)).to.deep.equal(['1', '2', '3'])
    })
  }
})

describe('a log that is dropped', () => {
  it('begins anew with nothing, though a batch had its committed sequence under way', async () => {
    const disk = new FaultyDisk()
    const failures: Error[] = []
    const onFailure = (error: Error): unknown => failures.push(error)
    const journal = await openTestJournal({ disk, mayMark: true, onFailure })
    const a = new ReplicaSource(journal, A)
    await appendAll(a, ['1', '2'])
    journal.committed(A, 2)
    disk.hold()
    const writing = a.append('3')
    await disk.whenHeld()
    journal.unregister(A, 'drop')
    disk.release()
    await writing

    const anew = new ReplicaSource(journal, A)
    await anew.restart(LOG_BEGIN)
    await anew.append('1 anew')

    expect(failures).to.deep.equal([])
    expect(journal.stateOf(A).committed).to.equal(0)
    expect(await textsOfLog(await reopened(disk), A)).to.deep.equal(['1 anew'])
  })
})

describe('the promise of a log', () => {
  it('is the highest one, after a start as well', async () => {
    const disk = new FaultyDisk()
    const journal = await openMarked(disk)
    const a = new ReplicaSource(journal, A)
    for (const epoch of [3, 3, 8]) await a.promise(epoch)

    expect(journal.stateOf(A).promised).to.equal(8)
    const again = await reopened(disk)
    expect(again.stateOf(A)).to.deep.equal({ promised: 8, committed: 0 })
    expect(again.stateOf(B)).to.deep.equal({ promised: 0, committed: 0 })
  })

  it('never decreases', async () => {
    const failures: Error[] = []
    const onFailure = (error: Error): unknown => failures.push(error)
    const a = new ReplicaSource(await openTestJournal({ mayMark: true, onFailure }), A)
    await a.promise(8)

    await failureOf(a.promise(7))

    expect(failures[0]).to.be.instanceOf(InvariantError)
  })

  it('is refused where marks are not allowed', async () => {
    const failures: Error[] = []
    const journal = await openTestJournal({ onFailure: (error) => failures.push(error) })

    expect(() => journal.committed(A, 1)).to.throw(InvariantError)
    await failureOf(new ReplicaSource(journal, A).promise(1))

    expect(failures[0]).to.be.instanceOf(InvariantError)
  })
})

describe('the committed sequence of a log', () => {
  it('is written with the next batch, and never alone', async () => {
    const disk = new FaultyDisk()
    const clock = new ManualClock()
    const journal = await openMarked(disk, clock)
    const [a, b] = [new ReplicaSource(journal, A), new ReplicaSource(journal, B)]
    await a.append('1')
    await becomeIdle(clock)
    const before = disk.writeCount
    journal.committed(A, 1)
    await becomeIdle(clock)
    expect(disk.writeCount).to.equal(before)
    expect(journal.stateOf(A).committed).to.equal(0)

    await b.append('1')

    expect(disk.writeCount).to.equal(before + 1)
    expect(journal.stateOf(A).committed).to.equal(1)
    expect((await reopened(disk)).stateOf(A).committed).to.equal(1)
  })

  it('is written with the seal of an idle journal, and by a clean stop', async () => {
    const disk = new FaultyDisk()
    const clock = new ManualClock()
    const journal = await openMarked(disk, clock)
    await new ReplicaSource(journal, A).append('1')
    journal.committed(A, 1)
    await becomeIdle(clock)
    const sealed = (await openMarked(disk.image(1))).stateOf(A)
    journal.committed(A, 2)
    await journal.close()

    expect(sealed.committed).to.equal(1)
    expect((await reopened(disk)).stateOf(A).committed).to.equal(2)
  })

  it('of many logs goes into several batches', async () => {
    const disk = new FaultyDisk()
    const journal = await openMarked(disk)
    const logs = Array.from({ length: 1500 }, (_, at) => at.toString(16).padStart(16, '0'))
    for (const logId of logs) journal.committed(logId, 5)
    const a = new ReplicaSource(journal, A)
    await appendAll(a, ['1', '2'])

    const again = await reopened(disk)

    expect(logs.filter((logId) => again.stateOf(logId).committed !== 5)).to.deep.equal([])
    expect(await textsOfLog(again, A)).to.deep.equal(['1', '2'])
  })

  it('costs one replica nothing: a journal without marks has the bytes of version 1', async () => {
    const disks = [new FaultyDisk(), new FaultyDisk()]
    for (const [at, disk] of disks.entries()) {
      const journal = await openTestJournal({ disk, mayMark: at === 1 })
      await appendAll(new ReplicaSource(journal, A), ['1', '2'])
      await journal.close()
    }

    const [plain, marked] = disks.map(({ directory }) => directory.contentOf(segmentFileName(1)))
    expect(plain?.equals(marked ?? Buffer.alloc(0))).to.equal(true)
  })
})

describe('a damaged mark', () => {
  const MARKS: Readonly<Record<string, (source: ReplicaSource, journal: Journal) => unknown>> = {
    truncate: (source) => source.truncate({ ...source.last }),
    restart: (source) => source.restart({ sequence: 9, epoch: 3, crc: 5 }),
    promise: (source) => source.promise(7),
    committed: (source, journal) => {
      journal.committed(A, 1)
      return source.append('with the mark')
    },
  }

  for (const [name, write] of Object.entries(MARKS)) {
    it(`is found, whichever bit of the batch has flipped: ${name}`, async () => {
      const clean = new FaultyDisk()
      const clock = new ManualClock()
      const journal = await openMarked(clean, clock)
      const a = new ReplicaSource(journal, A)
      await a.append('before')
      const content = (): Buffer => clean.directory.contentOf(segmentFileName(1))
      const from = Math.ceil(lengthOf(content()) / BATCH_ALIGNMENT) * BATCH_ALIGNMENT
      await write(a, journal)
      const to = lengthOf(content())
      await becomeIdle(clock) // so that the end is sealed
      expect(to - from).to.be.at.least(32)

      for (let bit = from * 8; bit < to * 8; bit++) {
        const disk = clean.image(1)
        const bytes = disk.directory.contentOf(segmentFileName(1))
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        const error = await failureOf(openMarked(disk))
        expect(error, `bit ${bit}`).to.be.instanceOf(ServiceError)
        expect(error).to.include({ code: 'CORRUPTION' })
      }
    })
  }

  it('of a later version is refused', async () => {
    const disk = new FaultyDisk()
    const a = new ReplicaSource(await openMarked(disk), A)
    const promise = appendedMark({ kind: 'promise', logId: A, epoch: 1 })
    setRowKind(promise.row, 200)
    await a.put({ ...promise, row: setRowCrc(promise.row, crcOfEntry(promise.row, [])) })
    disk.restart()

    expect(await errorOf(() => openMarked(disk))).to.include({ code: 'INVALID_ARGUMENT' })
  })
})

/** The bytes before the zeros at the end. */
function lengthOf(bytes: Buffer): number {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return end
}

describe('the marks of segments that go', () => {
  it('are written again into newer ones', async () => {
    const disk = new FaultyDisk()
    const clock = new ManualClock()
    const journal = await openMarked(disk, clock)
    const [a, b] = [new ReplicaSource(journal, A), new ReplicaSource(journal, B)]
    journal.register(B, { flush: async () => b.last.sequence }, 0)
    journal.committed(A, 3)
    await a.promise(4)
    for (let segment = 0; segment < 30; segment++) {
      await b.append(LONG)
      await becomeIdle(clock)
    }
    expect((await disk.directory.list()).includes(segmentFileName(1))).to.equal(false)
    expect(journal.keptBytes).to.be.at.most(6 * TEST_SEGMENT_BYTES)

    expect(journal.stateOf(A)).to.deep.equal({ promised: 4, committed: 3 })
    expect((await reopened(disk)).stateOf(A)).to.deep.equal({ promised: 4, committed: 3 })
  })

  it('are never missing while that happens, whenever power fails', async () => {
    const disk = new FaultyDisk()
    const clock = new ManualClock()
    const journal = await openMarked(disk, clock)
    const [a, b] = [new ReplicaSource(journal, A), new ReplicaSource(journal, B)]
    journal.register(B, { flush: async () => b.last.sequence }, 0)
    await a.promise(4)
    await journal.idle()
    const images: FaultyDisk[] = []
    let seed = 0
    disk.onMoment(() => images.push(disk.image(++seed)))
    for (let segment = 0; segment < 20; segment++) {
      await b.append(LONG)
      await becomeIdle(clock)
    }

    expect(images.length).to.be.greaterThan(40)
    for (const image of images) {
      expect((await openMarked(image)).stateOf(A).promised).to.equal(4)
    }
  })

  it('go with a log that is dropped', async () => {
    const disk = new FaultyDisk()
    const clock = new ManualClock()
    const journal = await openMarked(disk, clock)
    const [a, b] = [new ReplicaSource(journal, A), new ReplicaSource(journal, B)]
    journal.register(A, { flush: async () => 0 }, 0)
    journal.register(B, { flush: async () => b.last.sequence }, 0)
    await a.promise(4)
    journal.unregister(A, 'drop')
    for (let segment = 0; segment < 12; segment++) {
      await b.append(LONG)
      await settle()
    }

    expect((await reopened(disk)).stateOf(A).promised).to.equal(0)
  })
})

async function journalWanted(wantedFrom: number): Promise<Journal> {
  const journal = await openTestJournal({
    disk: new FaultyDisk(),
    keptBytes: 4 * TEST_SEGMENT_BYTES,
    wantedBytes: 10 * TEST_SEGMENT_BYTES,
  })
  const a = new ReplicaSource(journal, A)
  journal.register(A, { flush: async () => a.last.sequence, wantedFrom: () => wantedFrom }, 0)
  for (let segment = 0; segment < 30; segment++) {
    await a.append(LONG)
    await settle()
  }
  return journal
}

describe('entries that an owner still wants', () => {
  it('stay beyond the flush, up to the bound in bytes', async () => {
    const journal = await journalWanted(1)

    expect(journal.keptBytes / TEST_SEGMENT_BYTES).to.be.within(9, 11)
  })

  it('go as soon as nobody wants them', async () => {
    const journal = await journalWanted(Infinity)

    expect(journal.keptBytes / TEST_SEGMENT_BYTES).to.be.within(3, 6)
  })

  it('stay from the wanted one on', async () => {
    const journal = await journalWanted(25)

    expect((await textsOfLog(journal, A, 24)).length).to.equal(6)
    expect(journal.keptBytes / TEST_SEGMENT_BYTES).to.be.within(4, 7)
  })

  it('are not removed under a reader', async () => {
    const journal = await openTestJournal({ disk: new FaultyDisk() })
    const a = new ReplicaSource(journal, A)
    journal.register(A, { flush: async () => a.last.sequence }, 0)
    await appendAll(a, ['1', LONG])
    const reader = journal.entries(A, 0)
    const first = await reader.next()
    for (let segment = 0; segment < 12; segment++) {
      await a.append(LONG)
      await settle()
    }
    const rest = await Array.fromAsync(reader)
    await a.append(LONG)
    await settle()

    const sequences = [...(first.value ?? []), ...rest.flat()].map(({ sequence }) => sequence)
    expect(sequences[0]).to.equal(1)
    expect(sequences).to.deep.equal(sequences.map((_, at) => at + 1))
    expect(journal.keptBytes).to.be.at.most(6 * TEST_SEGMENT_BYTES)
  })
})
