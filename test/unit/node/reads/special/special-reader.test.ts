import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { SpecialReader } from '../../../../../node/reads/special/special-reader.ts'
import { splitProjection } from '../../../../../node/reads/special/special-selection.ts'
import { parseProjection } from '../../../../../node/document/projection.ts'
import type { EmbeddingsIndex } from '../../../../../node/embedding/written-embeddings.ts'
import type { ArtifactsAsked, FoundArtifacts } from '../../../../../node/shard/shard.ts'
import { vectorWrite } from '../../../../support/artifacts.ts'

const settings = { external: true, sparse: false, dimension: 2, metric: 'cosine', engine: 'exact', quantization: 'f32' } as const // prettier-ignore
const EMBEDDINGS = new Map<string, EmbeddingsIndex>([
  ['one', { id: '1'.repeat(16), settings }],
  ['two', { id: '2'.repeat(16), settings }],
])

/** What is read for the fields, and which indexes the shard is asked about. */
async function read(fields: string) {
  const asked: string[] = []
  const shard = {
    artifacts: async ({ keys, indexes }: ArtifactsAsked): Promise<readonly FoundArtifacts[]> => {
      asked.push(...indexes)
      return keys.map(() => indexes.map((id) => vectorWrite(id, Number(id[0]), 0).artifact))
    },
  }
  const { special } = splitProjection(parseProjection(fields))
  if (special === undefined) throw new Error('the projection names a special member')
  const table = { embeddings: EMBEDDINGS, shardOf: () => shard }
  const clock = new ManualClock()
  const reader = new SpecialReader({ clock, table, projection: special, signal: undefined })
  const [text = ''] = await reader.read([Buffer.from('k')])
  return { asked: asked.map((id) => id[0]), found: JSON.parse(text) }
}

describe('special members of documents', () => {
  it('are read of the indexes alone that are named', async () => {
    expect(await read('_embeddings.two')).to.deep.equal({
      asked: ['2'],
      found: { _embeddings: { two: [2, 0] } },
    })
    expect(await read('_chunks.none')).to.deep.equal({ asked: [], found: {} })
  })

  it('are read of all indexes for a path that leads into each', async () => {
    const both = { asked: ['1', '2'], found: { _embeddings: { one: [1, 0], two: [2, 0] } } }

    expect(await read('_embeddings')).to.deep.equal(both)
    expect(await read('_embeddings.*')).to.deep.equal(both)
    expect(await read('_embeddings.one,_embeddings,_chunks.two')).to.deep.equal(both)
  })
})
