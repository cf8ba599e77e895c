import { expect } from 'chai'
import { InvariantError } from '../../../../../lib/assert.ts'
import { LogIndex, type EntryInfo } from '../../../../../node/replication/core/log-index.ts'

const START = { sequence: 0, epoch: 0, crc: 0 }

/** Entries 1, 2, 3 ... of these epochs. */
function entriesOf(epochs: readonly number[]): readonly EntryInfo[] {
  return epochs.map((epoch, index) => ({
    sequence: index + 1,
    epoch,
    crc: epoch * 1000 + index,
    bytes: 10,
  }))
}

describe('LogIndex', () => {
  it('knows the position of each entry and of its base', () => {
    const log = new LogIndex(START, entriesOf([1, 1, 2]))

    expect(log.positionAt(0)).to.deep.equal(START)
    expect(log.positionAt(2)).to.deep.equal({ sequence: 2, epoch: 1, crc: 1001 })
    expect(log.last).to.deep.equal({ sequence: 3, epoch: 2, crc: 2002 })
    expect(log.positionAt(4)).to.equal(undefined)
  })

  it('distinguishes an entry from another one with its number', () => {
    const log = new LogIndex(START, entriesOf([1, 1]))

    expect(log.has({ sequence: 2, epoch: 1, crc: 1001 })).to.equal(true)
    expect(log.has({ sequence: 2, epoch: 2, crc: 1001 })).to.equal(false)
    expect(log.has({ sequence: 2, epoch: 1, crc: 7 })).to.equal(false)
  })

  it('finds the last entry of an epoch, or of the one before it', () => {
    const log = new LogIndex(START, entriesOf([1, 1, 3, 3, 4]))

    const rows = [
      { epoch: 3, sequence: 9, expected: 4 },
      { epoch: 2, sequence: 9, expected: 2 },
      { epoch: 3, sequence: 3, expected: 3 },
      { epoch: 9, sequence: 9, expected: 5 },
      { epoch: 0, sequence: 9, expected: 0 },
    ]
    for (const { epoch, sequence, expected } of rows) {
      expect(log.lastOfEpoch(epoch, sequence)?.sequence, `epoch ${epoch}`).to.equal(expected)
    }
  })

  it('counts the bytes of the entries that it has', () => {
    const log = new LogIndex(START, entriesOf([1, 1, 2, 2]))
    log.dropThrough(1)

    const rows = [
      { above: 0, through: 4, expected: 30 },
      { above: 2, through: 3, expected: 10 },
      { above: 3, through: 9, expected: 10 },
      { above: 4, through: 9, expected: 0 },
      { above: 0, through: 1, expected: 0 },
    ]
    for (const { above, through, expected } of rows) {
      expect(log.bytesBetween(above, through), `${above} to ${through}`).to.equal(expected)
    }
  })

  it('forgets the epochs of entries that are truncated', () => {
    const log = new LogIndex(START, entriesOf([1, 2, 2]))

    log.truncateAfter(1)
    log.append({ sequence: 2, epoch: 3, crc: 5, bytes: 1 })

    expect(log.lastOfEpoch(2, 9)?.sequence).to.equal(1)
    expect(log.last).to.deep.equal({ sequence: 2, epoch: 3, crc: 5 })
  })

  it('keeps later entries when earlier ones are removed', () => {
    const log = new LogIndex(START, entriesOf([1, 2, 2, 3]))

    log.dropThrough(2)

    expect(log.base).to.deep.equal({ sequence: 2, epoch: 2, crc: 2001 })
    expect(log.positionAt(1)).to.equal(undefined)
    expect(log.positionAt(3)?.epoch).to.equal(2)
    expect(log.lastOfEpoch(1, 9)).to.equal(undefined)
    expect(log.bytesAt(4)).to.equal(10)
  })

  it('begins again after a snapshot', () => {
    const log = new LogIndex(START, entriesOf([1]))

    log.restart({ sequence: 40, epoch: 7, crc: 9 })
    log.append({ sequence: 41, epoch: 8, crc: 10, bytes: 1 })

    expect(log.positionAt(41)?.epoch).to.equal(8)
    expect(log.lastOfEpoch(7, 99)?.sequence).to.equal(40)
  })

  it('refuses gaps, and epochs that decrease', () => {
    const log = new LogIndex(START, entriesOf([2]))

    expect(() => log.append({ sequence: 3, epoch: 2, crc: 0, bytes: 1 })).to.throw(InvariantError)
    expect(() => log.append({ sequence: 2, epoch: 1, crc: 0, bytes: 1 })).to.throw(InvariantError)
  })
})
