import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { EmbeddedCoordination } from '../../../../node/coordination/embedded-coordination.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'

const KEY = '/live/n1'

describe('EmbeddedCoordination', () => {
  it('lists no leased key at the revision of its deletion, whenever it is asked (ED4)', async () => {
    for (let turns = 0; turns < 12; turns++) {
      await using store = new EmbeddedCoordination(new MemoryKvStore(), new ManualClock())
      const { id: lease } = await store.grantLease(10)
      await store.commit({
        when: [],
        changes: [{ type: 'put', key: KEY, value: Buffer.from('1'), lease }],
      })

      const deleting = store.commit({ when: [], changes: [{ type: 'delete', key: KEY }] })
      for (let turn = 0; turn < turns; turn++) await Promise.resolve()
      const [listing, entry] = await Promise.all([store.list('/'), store.get(KEY)])

      const deleted = await deleting
      const isDeleted = 'revision' in deleted && listing.revision >= deleted.revision
      expect(listing.entries.length, `after ${turns} turns`).to.equal(isDeleted ? 0 : 1)
      expect(entry === undefined || !isDeleted).to.equal(true)
    }
  })
})
