// One filter, one answer: every kind of filter, on fields of every kind, through every operation that takes one.

import { expect } from 'chai'
import { FilterDoors, type Filter } from '../support/loads/filter-doors.ts'
import type { StorePlace, StoreUnderTest } from '../support/places/store-under-test.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { FILTERS } from '../support/worlds/filter-world.ts'

/** Filters through every door, wherever the store runs. */
export function describeFilterDoors(place: StorePlace): void {
  describe(`a filter, of ${place.name}`, () => {
    let store: StoreUnderTest
    let client: StoreClient
    let doors: FilterDoors

    before(async () => {
      store = await place.open()
      client = new StoreClient(() => store.api)
      doors = new FilterDoors(client)
      await doors.fill()
    })

    after(async () => {
      client[Symbol.dispose]()
      await store[Symbol.asyncDispose]()
    })

    it('finds the same through every door before and after documents are deleted', async () => {
      expect(await doors.differenceOfDoors(some(FILTERS, 67))).to.equal(undefined)
      expect(await doors.differenceOfBareDoors(some(FILTERS, 67))).to.equal(undefined)
      await doors.deleteTwins()
      expect(await doors.differenceOfDoors(some(FILTERS, 5))).to.equal(undefined)
    }).timeout(0)

    it('counts as many as it finds', async () => {
      expect(await doors.differenceOfCounts(some(FILTERS, 31))).to.equal(undefined)
    }).timeout(0)

    it('finds the same in a table without a full-text index, in a scan and among vectors', async () => {
      expect(await doors.differenceOfBareDoors(some(FILTERS, 13))).to.equal(undefined)
      expect(await doors.differenceOfTables(some(FILTERS, 3))).to.equal(undefined)
    }).timeout(0)
  })
}

/** One of `step` filters: document-tester.test.ts compares all. */
function some(filters: readonly Filter[], step: number): readonly Filter[] {
  return filters.filter((_, at) => at % step === 0)
}
