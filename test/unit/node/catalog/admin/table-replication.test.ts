import { expect } from 'chai'
import type { CreateTableRequest } from '../../../../../node/catalog/admin/create-table-request.ts'
import { decodeTable, encodeTable } from '../../../../../node/catalog/records/table-record.ts'
import {
  CLUSTER_REPLICATION,
  parseReplication,
  replicationOf,
  SWARM_REPLICATION,
} from '../../../../../node/catalog/admin/table-replication.ts'
import { SwarmHarness } from '../../../../support/servers/swarm-harness.ts'
import { errorOf } from '../../../../support/error-of.ts'

type Row = readonly [request: CreateTableRequest, expected: readonly number[] | RegExp | undefined]

const CLUSTER_CASES: Readonly<Record<string, Row>> = {
  'nothing that is asked': [{}, undefined],
  'a factor, with the default minimum': [{ replication_factor: 5 }, [5, 2]],
  'one replica, with the minimum of one': [{ replication_factor: 1 }, [1, 1]],
  'a minimum within the default factor': [{ min_in_sync: 3 }, [3, 3]],
  both: [{ replication_factor: 7, min_in_sync: 4 }, [7, 4]],
  'a minimum above the factor': [
    { replication_factor: 2, min_in_sync: 3 },
    /min_in_sync is 3, but replication_factor is 2; a write/,
  ],
  'a minimum above the default factor': [
    { min_in_sync: 4 },
    /min_in_sync is 4, but replication_factor is 3 by default/,
  ],
  'more than seven': [{ replication_factor: 8 }, /at most 7 replicas/],
}

const SWARM_CASES: Readonly<Record<string, Row>> = {
  'nothing that is asked': [{}, undefined],
  'what it has anyway': [{ replication_factor: 1, min_in_sync: 1 }, [1, 1]],
  'two replicas': [{ replication_factor: 2 }, /swarm mode.*; leave the member out, or run/],
  'a minimum of two': [{ min_in_sync: 2 }, /replication_factor is 1 by default/],
}

const MODES = {
  'a cluster': { rules: CLUSTER_REPLICATION, cases: CLUSTER_CASES },
  'swarm mode': { rules: SWARM_REPLICATION, cases: SWARM_CASES },
}

for (const [mode, { rules, cases }] of Object.entries(MODES)) {
  describe(`the replication of a table in ${mode}`, () => {
    for (const [name, [request, expected]] of Object.entries(cases)) {
      it(`follows from ${name}`, async () => {
        if (expected instanceof RegExp) {
          const error = await errorOf(async () => parseReplication(request, rules))
          expect(error).to.include({ code: 'INVALID_ARGUMENT' })
          return expect(String(error)).to.match(expected)
        }
        const [replicationFactor, minInSync] = expected ?? []
        const wanted = expected === undefined ? undefined : { replicationFactor, minInSync }
        return expect(parseReplication(request, rules)).to.deep.equal(wanted)
      })
    }
  })
}

describe('the record of a table', () => {
  it('keeps its replication, and reads an older one as unset', () => {
    const replication = { replicationFactor: 5, minInSync: 3 }
    const table = {
      name: 'books',
      tableId: '00112233445566ff',
      state: 'ready',
      description: undefined,
      schema: undefined,
      ttlGeneration: 1,
      indexes: [],
      hasBuiltInIndex: true,
      replication,
    } as const
    const bytes = encodeTable(table)
    const { replicationFactor, minInSync, ...older } = JSON.parse(bytes.toString())
    const read = decodeTable(Buffer.from(JSON.stringify(older)))

    expect([replicationFactor, minInSync]).to.deep.equal([5, 3])
    expect(decodeTable(bytes)).to.deep.equal(table)
    expect(read.replication).to.equal(undefined)
    expect(replicationOf(read, CLUSTER_REPLICATION)).to.deep.equal({
      replicationFactor: 3,
      minInSync: 2,
    })
  })

  it('shows what a store in swarm mode does', async () => {
    await using harness = await SwarmHarness.open()

    const made = await harness.store.createTable('books', {})

    expect(made).to.include({ replication_factor: 1, min_in_sync: 1 })
    expect(await harness.store.getTable('books')).to.include({ replication_factor: 1 })
  })
})
