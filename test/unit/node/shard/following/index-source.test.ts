import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { encodeArtifact } from '../../../../../node/embedding/artifact.ts'
import type { ArtifactWrite } from '../../../../../node/embedding/written-embeddings.ts'
import type { WriteOp } from '../../../../../node/shard/command/command.ts'
import {
  readChanges,
  readLastKey,
  readNextDocuments,
  readTouchedKeys,
} from '../../../../../node/shard/following/document-changes.ts'
import { sourceOf, type IndexSource } from '../../../../../node/shard/following/index-source.ts'
import { vectorIn, vectorWrite } from '../../../../support/artifacts.ts'
import { deleteOp } from '../../../../support/worlds/shard-world.ts'
import { textOp, TextShard } from '../../../../support/worlds/text-shard.ts'

const VEC = { kind: 'vectors', id: '0123456789abcdef' }
const OTHER = 'fedcba9876543210'
const TTL = { ttl_duration: '1h' }

const put = (key: string, ...artifacts: readonly ArtifactWrite[]): WriteOp => ({
  ...textOp(key, 'tide'),
  artifacts,
})
const alone = (key: string, ...artifacts: readonly ArtifactWrite[]): WriteOp => ({
  kind: 'artifacts',
  key: Buffer.from(key),
  artifacts,
})

/** What the log of the last write tells an index: by key, its vector. */
async function toldBy(text: TextShard, source: IndexSource) {
  const to = text.shard.appliedSequence
  const { keys } = await readTouchedKeys(source, { from: to, to }, systemClock)
  const told = new Map<string, readonly number[] | undefined>()
  for await (const { changes } of readChanges(source, keys, systemClock)) {
    for (const { key, json } of changes) told.set(Buffer.from(key).toString(), vectorIn(json))
  }
  return Object.fromEntries(told)
}

describe('what an index of vectors is made from', () => {
  it('are the artifacts of its own id, told by the touches of the log', async () => {
    await using text = await TextShard.open({ hasIndexes: false })
    const source = sourceOf(text.shard, VEC)

    await text.write(put('a', vectorWrite(VEC.id, 1)), put('b', vectorWrite(OTHER, 2)), put('c'))
    const inserted = await toldBy(text, source)
    await text.write(put('a'), put('c'))
    const updated = await toldBy(text, source)
    await text.write(alone('c', vectorWrite(VEC.id, 3)))
    const added = await toldBy(text, source)
    await text.write(alone('a', { index: VEC.id, artifact: undefined }))
    const removed = await toldBy(text, source)

    expect(inserted).to.deep.equal({ a: [1], b: undefined })
    expect(updated, 'documents without news of vectors').to.deep.equal({})
    expect(added).to.deep.equal({ c: [3] })
    expect(removed).to.deep.equal({ a: undefined })
  })

  it('ends with the document, and does not come back with a later one', async () => {
    await using text = await TextShard.open({ hasIndexes: false })
    const source = sourceOf(text.shard, VEC)
    await text.write(put('a', vectorWrite(VEC.id, 1)))

    await text.write(deleteOp('a'))
    const deleted = await toldBy(text, source)
    await text.write(put('a'))

    expect(deleted).to.deep.equal({ a: undefined })
    expect(source.changeOf(Buffer.from('a')).json).to.equal(undefined)
  })

  it('has the ordinal and the expiry of the document', async () => {
    await using text = await TextShard.open({ hasIndexes: false, schema: { version: 0, ...TTL } })
    const source = sourceOf(text.shard, VEC)
    const expiring: WriteOp = {
      ...textOp('b', 'tide'),
      expiry: { kind: 'at', ms: 9_000_000_000_000 },
      artifacts: [vectorWrite(VEC.id, 1)],
    }
    await text.write(put('a'), expiring)

    const change = source.changeOf(Buffer.from('b'))

    expect(change).to.include({ ordinal: 1, expiresAtMs: 9_000_000_000_000 })
    expect(change.json?.[4], 'in the artifact as well').to.equal(1)
  })

  it('is told of each document that changes where documents expire', async () => {
    await using text = await TextShard.open({ hasIndexes: false, schema: { version: 0, ...TTL } })
    const source = sourceOf(text.shard, VEC)
    await text.write(put('a', vectorWrite(VEC.id, 1)))

    await text.write(put('a'))

    expect(await toldBy(text, source)).to.deep.equal({ a: [1] })
  })

  it('has nothing of a failed embedding, or of a document without text', async () => {
    await using text = await TextShard.open({ hasIndexes: false })
    const source = sourceOf(text.shard, VEC)
    const head = { ordinal: 0, sourceHash: undefined }
    const parked = encodeArtifact({ ...head, kind: 'parked', attempts: 10 })
    const empty = encodeArtifact({ ...head, kind: 'dense', dimension: 1, rows: [] })
    const of = (artifact: Buffer): ArtifactWrite => ({ index: VEC.id, artifact })

    await text.write(put('a', of(parked)), put('b', of(empty)))

    expect(await toldBy(text, source)).to.deep.equal({ a: undefined, b: undefined })
  })

  it('is walked over its own artifacts, in the order of keys', async () => {
    await using text = await TextShard.open({ hasIndexes: false })
    const source = sourceOf(text.shard, VEC)
    await text.write(put('\u{10ffff}', vectorWrite(VEC.id, 3)), put('a', vectorWrite(VEC.id, 1)))
    await text.write(put('b', vectorWrite(OTHER, 9)), put('c'), put('d', vectorWrite(VEC.id, 2)))
    await text.write(deleteOp('d'))

    const last = await readLastKey(source)
    const span = { after: undefined, last: last ?? Buffer.alloc(0) }
    const found = await readNextDocuments(source, span, systemClock)

    const walked = found?.changes.map(({ key, json }) => [
      Buffer.from(key).toString(),
      vectorIn(json),
    ])
    expect(walked).to.deep.equal([
      ['a', [1]],
      ['d', undefined],
      ['\u{10ffff}', [3]],
    ])
    const behind = { after: found?.last, last: span.last }
    expect(await readNextDocuments(source, behind, systemClock)).to.equal(undefined)
  })
})

describe('what an index of text is made from', () => {
  it('are documents, and not their vectors', async () => {
    await using text = await TextShard.open({ hasIndexes: false })
    const source = sourceOf(text.shard, { kind: 'text', id: VEC.id })
    await text.write(put('a', vectorWrite(VEC.id, 1)))
    const inserted = await toldBy(text, {
      ...source,
      changeOf: (key) => ({ key, json: undefined, expiresAtMs: 0 }),
    })

    await text.write(alone('a', vectorWrite(VEC.id, 2)))

    expect(Object.keys(inserted)).to.deep.equal(['a'])
    expect(await toldBy(text, source)).to.deep.equal({})
  })
})
