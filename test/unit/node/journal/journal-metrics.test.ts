import { expect } from 'chai'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { failureOf } from '../../../support/failure-of.ts'
import { TextSource } from '../../../support/worlds/journal-source.ts'
import { openTestJournal } from '../../../support/worlds/test-journal.ts'

const A = '000000000000000a'
const B = '000000000000000b'

describe('the metrics of the journal', () => {
  it('count each durable write, its entries and its groups', async () => {
    const journal = await openTestJournal({ disk: new FaultyDisk() })
    const [a, b] = [new TextSource(journal, A), new TextSource(journal, B)]
    await a.append('first')

    await Promise.all([a.append('x'), b.append('y')])

    const lines = journal.metricLines()
    expect(lines).to.include.members([
      'quarry_journal_sync_duration_seconds_count 2',
      'quarry_journal_batch_entries_bucket{le="1"} 1',
      'quarry_journal_batch_entries_bucket{le="2"} 2',
      'quarry_journal_batch_entries_sum 3',
      'quarry_journal_groups_total 3',
      'quarry_journal_queued_groups 0',
      'quarry_journal_segments 1',
    ])
    expect(lines.find((line) => line.startsWith('quarry_journal_bytes '))).to.equal(
      `quarry_journal_bytes ${journal.keptBytes}`,
    )
  })

  it('count groups that were refused for lack of room', async () => {
    const journal = await openTestJournal({ disk: new FaultyDisk(), hasRoomFor: () => false })

    const refused = await failureOf(new TextSource(journal, A).append('x'))

    expect(refused).to.include({ code: 'DISK_FULL' })
    expect(journal.metricLines()).to.include.members([
      'quarry_journal_refused_groups_total 1',
      'quarry_journal_sync_duration_seconds_count 0',
    ])
  })
})
