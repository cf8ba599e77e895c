import { expect } from 'chai'
import { must } from '../../../../lib/assert.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import type { Journal } from '../../../../node/journal/journal.ts'
import {
  BATCH_HEADER_BYTES,
  crcOfEntry,
  encodeRow,
  SEGMENT_HEADER_BYTES,
  segmentFileName,
  setRowCrc,
  setRowKind,
} from '../../../../node/journal/journal-format.ts'
import type { LogPosition } from '../../../../node/journal/log-position.ts'
import {
  checkReceivedEntries,
  type EncodedEntry,
  type ReceivedEntry,
} from '../../../../node/journal/received-entries.ts'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { encodedEntry, LOG_BEGIN, ReplicaSource } from '../../../support/worlds/replica-source.ts'
import { openTestJournal } from '../../../support/worlds/test-journal.ts'

const A = '000000000000000a'
const B = '000000000000000b'
const TEXTS = ['one', 'two', '', 'x'.repeat(3000)]

/** The entries of a log as its leader sends them: read from its journal. */
async function sentBy(journal: Journal, logId: string): Promise<EncodedEntry[]> {
  const pages = await Array.fromAsync(journal.entries(logId, 0))
  return pages.flat().map(({ body, ...fields }) => ({
    row: encodeRow({ ...fields, logId, length: body.length }),
    body,
  }))
}

async function sentEntries(): Promise<EncodedEntry[]> {
  const journal = await openTestJournal()
  const leader = new ReplicaSource(journal, A)
  for (const text of TEXTS) await leader.append(text, 3)
  return sentBy(journal, A)
}

function received(
  entries: readonly EncodedEntry[],
  previous: LogPosition = LOG_BEGIN,
): readonly ReceivedEntry[] {
  return runAtOnce(checkReceivedEntries({ logId: A, previous }, entries))
}

function copyOf({ row, body }: EncodedEntry): { row: Buffer; body: Buffer } {
  return { row: Buffer.from(row), body: Buffer.from(body) }
}

/** An entry of this epoch, sequence and log, with a crc that fits. */
function entry(logId: string, previous: LogPosition, epoch: number): EncodedEntry {
  const { appended } = encodedEntry(logId, previous, { epoch, text: 'text' })
  return { row: appended.row, body: Buffer.from('text') }
}

/** The table and the bodies of the first batch. */
function rowsOn(disk: FaultyDisk): Buffer {
  return disk.directory
    .contentOf(segmentFileName(1))
    .subarray(SEGMENT_HEADER_BYTES + BATCH_HEADER_BYTES)
}

describe('received entries', () => {
  it("make the follower's entries equal the leader's, byte for byte", async () => {
    const [leaderDisk, followerDisk] = [new FaultyDisk(), new FaultyDisk()]
    const leaderJournal = await openTestJournal({ disk: leaderDisk })
    const leader = new ReplicaSource(leaderJournal, A)
    await Promise.all(TEXTS.map((text) => leader.append(text, 3)))
    const followerJournal = await openTestJournal({ disk: followerDisk })
    const follower = new ReplicaSource(followerJournal, A)
    const checked = received(await sentBy(leaderJournal, A))

    await Promise.all(checked.map(({ appended }) => follower.put(appended)))

    const [sent, kept] = await Promise.all([sentBy(leaderJournal, A), sentBy(followerJournal, A)])
    expect(kept).to.deep.equal(sent)
    expect(checked.at(-1)?.position).to.deep.equal(leader.last)
    // Both wrote one batch, and even the segments differ by the salt and the crcs over it alone.
    expect(rowsOn(followerDisk).equals(rowsOn(leaderDisk))).to.equal(true)
  })

  it('are refused whichever bit of a row or a body has flipped', async () => {
    const sent = await sentEntries()
    const last = must(sent.at(-1), 'the last entry')
    const bits = (last.row.length + last.body.length) * 8

    for (let bit = 0; bit < bits; bit += bit < 512 ? 1 : 97) {
      const flipped = copyOf(last)
      const at = bit >> 3
      const [bytes, index] =
        at < flipped.row.length ? [flipped.row, at] : [flipped.body, at - flipped.row.length]
      bytes[index] = (bytes[index] ?? 0) ^ (1 << (bit & 7))
      const entries = [...sent.slice(0, -1), flipped]
      expect(() => received(entries), `bit ${bit}`).to.throw('a received entry after entry 3')
    }
  })

  it('continue a log in the middle', async () => {
    const sent = await sentEntries()
    const positions = received(sent).map(({ position }) => position)

    expect(received(sent.slice(2), positions[1]).map(({ position }) => position)).to.deep.equal(
      positions.slice(2),
    )
  })

  const position = { sequence: 7, epoch: 3, crc: 0x0a0b0c0d }
  const wrong: Readonly<Record<string, { entry: () => EncodedEntry; says: string }>> = {
    'of another log': { entry: () => entry(B, position, 3), says: `log ${B}` },
    'with a gap before it': {
      entry: () => entry(A, { ...position, sequence: 8 }, 3),
      says: 'its sequence is 9',
    },
    'of an older epoch': { entry: () => entry(A, position, 2), says: 'its epoch is 2, after 3' },
    'chained to another entry': {
      entry: () => entry(A, { ...position, crc: 1 }, 3),
      says: 'not chained',
    },
    'with a body that is too short': {
      entry: () => ({ ...entry(A, position, 3), body: Buffer.from('tex') }),
      says: '3 bytes of 4',
    },
    'that is a mark': {
      entry: () => {
        const { row, body } = entry(A, position, 3)
        setRowKind(row, 2)
        return { row: setRowCrc(row, crcOfEntry(row, [body])), body }
      },
      says: 'not that of an entry',
    },
    'with a row of another length': {
      entry: () => ({ row: Buffer.alloc(31), body: Buffer.alloc(0) }),
      says: 'wrong length',
    },
  }
  for (const [name, { entry: build, says }] of Object.entries(wrong)) {
    it(`are refused with an entry ${name}`, () => {
      expect(() => received([build()], position)).to.throw(says)
    })
  }
})
