import { expect } from 'chai'
import { ClusterFeed } from '../../../../node/controller/shell/cluster-feed.ts'
import { CONTROLLER_CATALOG } from '../../../../node/steering/controller-catalog.ts'
import {
  encodeTable,
  shardKey,
  tableKey,
  type TableRecord,
} from '../../../../node/catalog/records/table-record.ts'
import { parseShardId } from '../../../../node/shard/shard-id.ts'

const TABLE: TableRecord = {
  name: 'books',
  tableId: '0000000000000001',
  state: 'ready',
  description: undefined,
  schema: undefined,
  ttlGeneration: 1,
  indexes: [],
  hasBuiltInIndex: true,
  replication: { replicationFactor: 5, minInSync: 3 },
}

const change = (key: string, value: Buffer | undefined, revision: number) => ({
  key,
  entry: value && { key, value, createRevision: 1, modRevision: revision },
  revision,
})

describe('the catalog for the controller', () => {
  it('tells tables with their replication, and shards with a condition on their keys', () => {
    const feed = new ClusterFeed(CONTROLLER_CATALOG)
    const key = tableKey('books')
    const shard = shardKey(TABLE.tableId, parseShardId('00000000000000aa'))

    const told = [
      ...feed.read(change(key, encodeTable(TABLE), 2)),
      ...feed.read(change(shard, Buffer.from('{}'), 3)),
      ...feed.read(change(shard, undefined, 4)),
      ...feed.read(change(key, encodeTable({ ...TABLE, tableId: '2', replication: undefined }), 5)),
      ...feed.read(change(key, undefined, 6)),
      ...feed.read(change('/table-fields/1/000000', Buffer.from('{}'), 7)),
    ]

    const path = `${TABLE.tableId}/00000000000000aa`
    expect(told).to.deep.equal([
      { kind: 'table', tableId: TABLE.tableId, replication: TABLE.replication },
      { kind: 'catalog', path, entry: { key: shard, modRevision: 3 } },
      { kind: 'catalog', path, entry: { key: shard, modRevision: 0 } },
      { kind: 'table', tableId: TABLE.tableId, replication: undefined },
      { kind: 'table', tableId: '2', replication: undefined },
      { kind: 'table', tableId: '2', replication: undefined },
    ])
  })

  it('holds shards back until their table is there', () => {
    const feed = new ClusterFeed(CONTROLLER_CATALOG)
    const [one, two] = ['00000000000000aa', '00000000000000bb'].map((id) =>
      shardKey(TABLE.tableId, parseShardId(id)),
    )

    const before = [
      ...feed.read(change(one ?? '', Buffer.from('{}'), 2)),
      ...feed.read(change(two ?? '', Buffer.from('{}'), 3)),
      ...feed.read(change(two ?? '', undefined, 4)),
    ]
    const then = feed.read(change(tableKey('books'), encodeTable(TABLE), 5))

    expect(before.map(({ kind }) => kind)).to.deep.equal(['catalog'])
    const path = `${TABLE.tableId}/00000000000000aa`
    expect(then).to.deep.equal([
      { kind: 'table', tableId: TABLE.tableId, replication: TABLE.replication },
      { kind: 'catalog', path, entry: { key: one, modRevision: 2 } },
    ])
  })
})
