import { expect } from 'chai'
import { OpenTable } from '../../../../node/catalog/tables/open-table.ts'
import { PartCollector } from '../../../../node/transactions/transaction-part.ts'
import { FailedShard } from '../../../../node/replicas/tables/failed-shard.ts'
import { parseTableWrites } from '../../../../node/document/batch-body.ts'
import { decodeArtifact } from '../../../../node/embedding/artifact.ts'
import { parseShardId } from '../../../../node/shard/shard-id.ts'
import { countTo } from '../../../support/loads/load.ts'
import { vectorIn } from '../../../support/artifacts.ts'

const VEC = '0123456789abcdef'
const OTHER = 'fedcba9876543210'
const settings = {
  external: true,
  sparse: false,
  dimension: 3,
  metric: 'cosine',
  engine: 'exact',
  quantization: 'f32',
}
const wide = { ...settings, dimension: 384 }
const everything = { start: Buffer.alloc(0), end: undefined }
const shard = new FailedShard(parseShardId('0000000000000001'), everything, 'it only owns keys')
const table = new OpenTable(
  {
    name: 'books',
    tableId: '00112233445566ff',
    state: 'ready',
    description: undefined,
    schema: undefined,
    ttlGeneration: 1,
    hasBuiltInIndex: true,
    indexes: [
      { id: VEC, kind: 'vectors', name: 'vec', memOnly: false, settings },
      { id: OTHER, kind: 'vectors', name: 'wide', memOnly: false, settings: wide },
    ],
    replication: undefined,
  },
  [shard],
)

function collected(body: unknown) {
  const { writes } = parseTableWrites('books', Buffer.from(JSON.stringify(body)))
  const collector = new PartCollector()
  const steps = [...collector.addWrites(table, writes)].length
  return { steps, ops: collector.parts.flatMap(({ ops }) => ops) }
}

describe('the operations of a request', () => {
  it('have the vectors of documents as artifacts of their indexes', () => {
    const { ops } = collected({
      inserts: {
        a: { n: 1, _embeddings: { vec: [1, 2, 3] } },
        b: { n: 2 },
        c: { _embeddings: { vec: null } },
        d: { n: 3, _embeddings: {} },
      },
    })

    const shown = ops.map((op) => ({
      kind: op.kind,
      json: op.kind === 'put' ? op.json.toString() : undefined,
      artifacts:
        op.kind === 'put' || op.kind === 'artifacts'
          ? op.artifacts?.map(({ index, artifact }) => [index, vectorIn(artifact)])
          : undefined,
    }))
    expect(shown).to.deep.equal([
      { kind: 'put', json: '{"n":1}', artifacts: [[VEC, [1, 2, 3]]] },
      { kind: 'put', json: '{"n":2}', artifacts: undefined },
      { kind: 'artifacts', json: undefined, artifacts: [[VEC, undefined]] },
      { kind: 'put', json: '{"n":3}', artifacts: undefined },
    ])
  })

  it('take away the vectors of a document that is deleted and inserted', () => {
    const { ops } = collected({
      deletes: ['a', 'b'],
      inserts: { a: { n: 1, _embeddings: { vec: [1, 2, 3] } }, c: { n: 2 } },
    })

    const puts = ops.flatMap((op) => (op.kind === 'put' ? [op] : []))
    const kinds = puts.map(({ artifacts = [] }) =>
      artifacts.map(({ index, artifact }) => [index, artifact && decodeArtifact(artifact).kind]),
    )
    expect(kinds).to.deep.equal([
      [
        [OTHER, undefined],
        [VEC, 'dense'],
      ],
      [],
    ])
  })

  it('are made in steps, also when their documents are vectors above all', () => {
    const vector = Array.from({ length: 384 }, (_, at) => at / 7)
    const document = { n: 1, _embeddings: { wide: vector } }
    const inserts = Object.fromEntries(countTo(300).map((n) => [`k${n}`, document]))

    const { steps, ops } = collected({ inserts })

    expect(ops).to.have.length(300)
    expect(steps).to.be.greaterThan(10)
  })
})
