import { expect } from 'chai'
import { LedShards } from '../../../../node/catalog/tables/led-shards.ts'
import { countIndexesSliced, NO_INDEXES } from '../../../../node/steering/index-summary.ts'
import { OpenTable } from '../../../../node/catalog/tables/open-table.ts'

/** A table of another node's shards. */
function tableOf(at: number): OpenTable {
  const record = {
    name: `t${at}`,
    tableId: String(at),
    state: 'ready',
    description: undefined,
    schema: undefined,
    ttlGeneration: 0,
    indexes: [],
    hasBuiltInIndex: false,
    replication: undefined,
    shards: [],
  } as const
  return new OpenTable(record, [])
}

describe('the count of what indexes do', () => {
  it('pauses between tables, however many there are', () => {
    const tables = Array.from({ length: 1000 }, (_, at) => tableOf(at))
    const work = countIndexesSliced(tables, new LedShards())

    let pauses = 0
    let step = work.next()
    for (; step.done !== true; step = work.next()) pauses += 1

    expect(pauses).to.be.within(10, 100)
    expect(step.value).to.deep.equal(NO_INDEXES)
  })
})
