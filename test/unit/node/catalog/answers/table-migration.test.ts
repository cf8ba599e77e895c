import { expect } from 'chai'
import { OpenTable } from '../../../../../node/catalog/tables/open-table.ts'
import { migrationOf } from '../../../../../node/catalog/answers/table-migration.ts'
import { indexVersionOf } from '../../../../../node/shard/following/index-versions.ts'
import type { ShardStats } from '../../../../../node/shard/shard.ts'
import { parseTableSchema } from '../../../../../node/schema/table-schema.ts'

const SCHEMA = parseTableSchema({ language: 'german' }, parseTableSchema({}, undefined))
const NEW = indexVersionOf(SCHEMA)
const OLD = NEW - 1

/** A table whose shards other nodes lead. */
const TABLE = new OpenTable(
  {
    name: 'shops',
    tableId: '1',
    state: 'ready',
    description: undefined,
    schema: SCHEMA,
    ttlGeneration: 0,
    indexes: [],
    hasBuiltInIndex: false,
    replication: undefined,
  },
  [],
)

function statsOf(versions: Readonly<Record<string, number>>): ShardStats {
  const told = Object.entries(versions).map(([index, version]) => ({ index, version }))
  return { diskBytes: 0, empty: false, indexVersions: told }
}

describe('the migration of a table', () => {
  it('is shown until the last shard answers by the schema, also where another node leads it', async () => {
    const done = statsOf({ words: NEW, titles: NEW })
    const last = statsOf({ words: NEW, titles: OLD })
    const both = statsOf({ words: OLD, titles: OLD })

    const shown = [[both, both], [done, both], [done, last], [done, done], []].map((stats) =>
      migrationOf(TABLE, stats),
    )

    const indexes = (await Promise.all(shown)).map((migration) => migration?.indexes)
    expect(indexes).to.deep.equal([
      ['titles', 'words'],
      ['titles', 'words'],
      ['titles'],
      undefined,
      undefined,
    ])
  })
})
