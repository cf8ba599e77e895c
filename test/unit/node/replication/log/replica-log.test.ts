import { expect } from 'chai'
import { must } from '../../../../../lib/assert.ts'
import { ServiceError } from '../../../../../lib/errors.ts'
import type { Journal } from '../../../../../node/journal/journal.ts'
import type { LogPosition } from '../../../../../node/journal/log-position.ts'
import { segmentFileName } from '../../../../../node/journal/journal-format.ts'
import {
  buildReplicaLog,
  openReplicaLogs,
  type ReplicaLog,
} from '../../../../../node/replication/log/replica-log.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { FaultyDisk } from '../../../../support/fakes/faulty-disk.ts'
import { settle } from '../../../../support/servers/swarm-harness.ts'
import { LOG_BEGIN, ReplicaSource } from '../../../../support/worlds/replica-source.ts'
import { openTestJournal, TEST_SEGMENT_BYTES } from '../../../../support/worlds/test-journal.ts'

const A = '000000000000000a'
const B = '000000000000000b'

/** A log of five entries: of epoch 1, 1, 3, 3 and 4, of as many bytes as their numbers. */
class Written {
  readonly disk = new FaultyDisk()
  readonly positions: LogPosition[] = [LOG_BEGIN]
  committed = 0

  async write(): Promise<this> {
    const journal = await this.open()
    const source = new ReplicaSource(journal, A)
    await source.promise(1)
    for (const [at, epoch] of [1, 1, 3, 3, 4].entries()) {
      if (epoch > source.last.epoch) await source.promise(epoch)
      await source.append('x'.repeat(at + 1), epoch)
      this.positions.push(source.last)
    }
    journal.committed(A, this.committed)
    await journal.close()
    return this
  }

  open(): Promise<Journal> {
    return openTestJournal({ disk: this.disk, mayMark: true })
  }

  at(sequence: number): LogPosition {
    return this.positions[sequence] ?? LOG_BEGIN
  }
}

async function openLog(journal: Journal, applied: LogPosition, logId = A): Promise<ReplicaLog> {
  const opened = (await openReplicaLogs(journal, new Map([[logId, applied]]))).get(logId)
  if (opened instanceof ServiceError) throw opened
  return must(opened, 'an opened log')
}

describe('the log of a replica at its start', () => {
  it('has positions, sizes and epochs from its beginning on if the journal has all of it', async () => {
    const written = await new Written().write()

    const { log, promised, committed } = await openLog(await written.open(), written.at(3))

    expect(log.base).to.deep.equal(LOG_BEGIN)
    expect([1, 2, 3, 4, 5].map((at) => log.positionAt(at))).to.deep.equal(
      written.positions.slice(1),
    )
    expect([1, 2, 3, 4, 5].map((at) => log.bytesAt(at))).to.deep.equal([1, 2, 3, 4, 5])
    expect(log.lastOfEpoch(2, 5)).to.deep.equal(written.at(2))
    expect(log.lastOfEpoch(3, 5)).to.deep.equal(written.at(4))
    expect({ promised, committed }).to.deep.equal({ promised: 4, committed: 3 })
  })

  it('begins after what the store has if the journal has none of that', async () => {
    const written = await new Written().write()

    const { log, committed } = await openLog(await written.open(), LOG_BEGIN)

    expect(log.base).to.deep.equal(LOG_BEGIN)
    expect(log.last).to.deep.equal(written.at(5))
    expect(committed).to.equal(0)
  })

  it('is empty after what the store has if the journal has nothing', async () => {
    const applied = { sequence: 9, epoch: 0, crc: 5 }

    const { log, promised, committed } = await openLog(await openTestJournal(), applied)

    expect([log.base, log.last]).to.deep.equal([applied, applied])
    expect({ promised, committed }).to.deep.equal({ promised: 0, committed: 9 })
  })

  it('knows what was committed and is not in the store', async () => {
    const written = new Written()
    written.committed = 4
    await written.write()

    expect((await openLog(await written.open(), written.at(2))).committed).to.equal(4)
  })

  it('ends where it was truncated', async () => {
    const written = await new Written().write()
    const journal = await written.open()
    const source = new ReplicaSource(journal, A, written.at(5))
    await source.promise(6)
    await source.truncate(written.at(3))
    await journal.idle()

    expect((await openLog(journal, written.at(2))).log.last).to.deep.equal(written.at(3))
    await source.append('anew', 6)
    expect((await openLog(journal, written.at(2))).log.last).to.deep.equal(source.last)
  })

  it('begins after the snapshot that replaced it', async () => {
    const written = await new Written().write()
    const journal = await written.open()
    const snapshot = { sequence: 4, epoch: 4, crc: 77 }
    const source = new ReplicaSource(journal, A)
    await source.restart(snapshot)
    await source.append('behind', 4)

    const { log } = await openLog(journal, snapshot)

    expect(log.base).to.deep.equal(snapshot)
    expect(log.last).to.deep.equal(source.last)
  })

  it('is read for many replicas in one pass, and a damaged one does not stop the others', async () => {
    const written = await new Written().write()
    const journal = await written.open()
    const b = new ReplicaSource(journal, B)
    await b.append('b')
    const applied = new Map([
      [A, { ...written.at(3), crc: 1 }],
      [B, LOG_BEGIN],
    ])

    const opened = await openReplicaLogs(journal, applied)

    expect(opened.get(A)).to.include({ code: 'CORRUPTION' })
    expect(opened.get(B)).to.have.nested.property('log.last').that.deep.equals(b.last)
  })

  it('spans segments, and begins where the oldest one begins', async () => {
    const disk = new FaultyDisk()
    const journal = await openTestJournal({ disk, mayMark: true })
    const source = new ReplicaSource(journal, A)
    journal.register(A, { flush: async () => source.last.sequence }, 0)
    const positions = [LOG_BEGIN]
    for (let at = 0; at < 40; at++) {
      await source.append('x'.repeat(TEST_SEGMENT_BYTES / 3))
      positions.push(source.last)
      await settle()
    }

    const { log } = await openLog(journal, source.last)

    expect(log.base.sequence).to.be.within(20, 38)
    for (let at = log.base.sequence; at <= 40; at++) {
      expect(log.positionAt(at)).to.deep.equal(positions[at])
    }
  })
})

describe('the log of a replica that contradicts its marks or its store', () => {
  const parts = { logId: A, state: { promised: 4, committed: 0 } }

  async function keptRows() {
    const written = await new Written().write()
    const kept = (await (await written.open()).keptLogs(new Set([A]))).get(A)
    return { written, kept, rows: kept?.rows ?? [] }
  }

  it('is refused if the store has entries that the journal lost', async () => {
    const { written, rows } = await keptRows()
    const kept = { rows: rows.slice(0, 2), restartedAt: undefined }

    expect(() => buildReplicaLog({ ...parts, kept, applied: written.at(4) })).to.throw(
      'ends before entry 4',
    )
  })

  it('is refused if entries are missing between the store and the journal, or in it', async () => {
    const { written, rows } = await keptRows()
    const restartedAt = undefined
    const late = { rows: rows.slice(3), restartedAt }
    const holed = { rows: rows.filter(({ sequence }) => sequence !== 3), restartedAt }

    for (const kept of [late, holed]) {
      expect(() => buildReplicaLog({ ...parts, kept, applied: written.at(2) })).to.throw(
        'has entry 4 after entry 2',
      )
    }
  })

  it('is refused if an entry is not chained, or of an older epoch', async () => {
    const { kept, rows } = await keptRows()
    const changed = (field: 'previousCrc' | 'epoch', value: number) => ({
      ...parts,
      applied: LOG_BEGIN,
      kept: {
        restartedAt: kept?.restartedAt,
        rows: rows.map((row) => (row.sequence === 4 ? { ...row, [field]: value } : row)),
      },
    })

    expect(() => buildReplicaLog(changed('previousCrc', 1))).to.throw('not chained')
    expect(() => buildReplicaLog(changed('epoch', 2))).to.throw('of epoch 2 after epoch 3')
  })

  it('is refused if its epochs were never promised', async () => {
    const { kept, written } = await keptRows()
    const state = { promised: 3, committed: 0 }

    expect(() => buildReplicaLog({ ...parts, kept, state, applied: written.at(1) })).to.throw(
      'epoch 4, and epoch 3 is promised',
    )
  })

  it('is refused if it ends before what is committed', async () => {
    const { kept, written } = await keptRows()
    const state = { promised: 4, committed: 6 }

    expect(() => buildReplicaLog({ ...parts, kept, state, applied: written.at(1) })).to.throw(
      'ends at entry 5, and 6 is committed',
    )
  })

  it('is refused if its store is not that of its snapshot', async () => {
    const { written } = await keptRows()
    const kept = { rows: [], restartedAt: { sequence: 3, epoch: 9, crc: 1 } }

    for (const sequence of [2, 3]) {
      const applied = written.at(sequence)
      expect(() => buildReplicaLog({ ...parts, kept, applied })).to.throw('begins after entry 3')
    }
  })

  it('is refused if it was truncated after an entry that it does not have', async () => {
    const written = await new Written().write()
    const journal = await written.open()
    await new ReplicaSource(journal, A).truncate({ ...written.at(3), crc: 1 })

    expect(await errorOf(() => openLog(journal, written.at(2)))).to.include({ code: 'CORRUPTION' })
  })

  it('is refused if the journal has become unreadable since the start', async () => {
    const written = await new Written().write()
    const journal = await written.open()
    written.disk.directory.flipBit(segmentFileName(1), 300)

    const refused = await errorOf(() => openLog(journal, written.at(2)))

    expect(refused).to.include({ code: 'CORRUPTION' })
    expect(String(refused)).to.include('a batch is not readable')
  })
})
