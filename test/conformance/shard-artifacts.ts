// What every Shard does with artifacts. Part of the contract in shard.ts.

import { expect } from 'chai'
import { TIMESTAMP_ZERO } from '../../node/clock/hybrid-clock.ts'
import { decodeArtifact, encodeArtifact } from '../../node/embedding/artifact.ts'
import type { ArtifactWrite } from '../../node/embedding/written-embeddings.ts'
import type { WriteOp } from '../../node/shard/command/command.ts'
import { versionOf } from '../../node/shard/format/document-record.ts'
import type { Shard } from '../../node/shard/shard.ts'
import type { TransactionId } from '../../node/shard/command/transaction-id.ts'
import { failureOf } from '../support/failure-of.ts'
import { intervalOfKey } from '../support/worlds/routes.ts'
import { deleteOp, putOp } from '../support/worlds/shard-world.ts'

/** A shard, and a way to begin a transaction at it. */
interface Bench extends AsyncDisposable {
  readonly shard: Shard
}

const key = Buffer.from('k')
const INDEX = '0123456789abcdef'
const OTHER = 'fedcba9876543210'

/** An artifact with this vector, for the index. */
function written(first: number, index = INDEX): ArtifactWrite {
  const rows = [{ start: 0, end: 0, vector: Float32Array.of(first, 2) }]
  const head = { kind: 'dense', ordinal: 0, sourceHash: undefined, dimension: 2 } as const
  return { index, artifact: encodeArtifact({ ...head, rows }) }
}

function withArtifacts(value: number, artifacts: readonly ArtifactWrite[]): WriteOp {
  const op = putOp('k', value)
  return op.kind === 'put' ? { ...op, artifacts } : op
}

const alone = (artifacts: readonly ArtifactWrite[]): WriteOp => ({
  kind: 'artifacts',
  key,
  artifacts,
})

const write = (shard: Shard, ...ops: readonly WriteOp[]) =>
  shard.write({ checks: [], ops, ttl: undefined })

/** The first number of each index's vector. */
async function vectorsOf(shard: Shard): Promise<readonly (number | undefined)[]> {
  const [found = []] = await shard.artifacts({ keys: [key], indexes: [INDEX, OTHER] })
  return found.map((bytes) => {
    const artifact = bytes && decodeArtifact(bytes)
    return artifact?.kind === 'dense' ? artifact.rows[0]?.vector[0] : undefined
  })
}

/** `newId` makes the id of a transaction that begins now. */
export function describeArtifacts<Under extends Bench>(
  start: () => Promise<Under>,
  newId: (bench: Under) => TransactionId,
): void {
  it('keeps the artifacts of a document, each for its index', async () => {
    await using bench = await start()
    const { shard } = bench

    await write(shard, withArtifacts(1, [written(5), written(7, OTHER)]))

    expect(await vectorsOf(shard)).to.deep.equal([5, 7])
  })

  it('changes those that a write names, and leaves the others and the document', async () => {
    await using bench = await start()
    const { shard } = bench
    await write(shard, withArtifacts(1, [written(5), written(7, OTHER)]))
    const before = await shard.read(key)

    await write(shard, alone([written(6)]))

    const after = await shard.read(key)
    expect(await vectorsOf(shard)).to.deep.equal([6, 7])
    expect(after).to.deep.equal(before)
    await write(shard, putOp('k', 2))
    expect(await vectorsOf(shard)).to.deep.equal([6, 7])
  })

  it('removes an artifact that a write takes away', async () => {
    await using bench = await start()
    const { shard } = bench
    await write(shard, withArtifacts(1, [written(5), written(7, OTHER)]))

    await write(shard, alone([{ index: INDEX, artifact: undefined }]))

    expect(await vectorsOf(shard)).to.deep.equal([undefined, 7])
  })

  it('has no artifact of a document that was deleted, also when it is inserted again', async () => {
    await using bench = await start()
    const { shard } = bench
    await write(shard, withArtifacts(1, [written(5)]))
    await write(shard, deleteOp('k'))
    expect(await vectorsOf(shard)).to.deep.equal([undefined, undefined])

    await write(shard, putOp('k', 2))

    expect(await vectorsOf(shard)).to.deep.equal([undefined, undefined])
  })

  it('refuses artifacts without a document, and nothing of that write happens', async () => {
    await using bench = await start()
    const { shard } = bench

    const failure = await failureOf(write(shard, putOp('other', 1), alone([written(5)])))

    expect(failure).to.include({ code: 'INVALID_ARGUMENT' })
    expect(String(failure)).to.contain('document "k" has only _embeddings')
    expect(await shard.read(Buffer.from('other'))).to.equal(undefined)
  })

  it('answers for at least one key, and for as many as it has bytes for', async () => {
    await using bench = await start()
    const { shard } = bench
    await write(shard, withArtifacts(1, [written(5)]))

    const found = await shard.artifacts({
      keys: [key, Buffer.from('absent'), key],
      indexes: [INDEX],
    })

    const isThere = found.map(([artifact]) => artifact !== undefined)
    expect(isThere).to.deep.equal([true, false, true])
  })

  describeTransactions(start, newId)
}

function describeTransactions<Under extends Bench>(
  start: () => Promise<Under>,
  newId: (bench: Under) => TransactionId,
): void {
  const prepare = (bench: Under, transactionId: TransactionId, op: WriteOp) => {
    const anchor = { tableId: 't', key }
    const begin = { participants: [intervalOfKey(anchor)] }
    return bench.shard.prepare({
      transactionId,
      anchor,
      begin,
      checks: [],
      ops: [op],
      ttl: undefined,
    })
  }
  const decide = ({ shard }: Under, transactionId: TransactionId, decision: 'commit' | 'abort') =>
    shard.decide({ transactionId, anchor: key, decision, commitAtLeast: TIMESTAMP_ZERO })

  for (const kind of ['put', 'artifacts'] as const) {
    it(`shows what a transaction's ${kind} writes from its commit on`, async () => {
      await using bench = await start()
      const { shard } = bench
      await write(shard, withArtifacts(1, [written(5), written(7, OTHER)]))
      const artifacts = [written(6)]
      const id = newId(bench)
      await prepare(bench, id, kind === 'put' ? withArtifacts(2, artifacts) : alone(artifacts))
      const prepared = await vectorsOf(shard)

      const decision = await decide(bench, id, 'commit')

      const committed = await vectorsOf(shard)
      await shard.resolve({ transactionId: id, decision })
      expect(prepared).to.deep.equal([5, 7])
      expect(committed).to.deep.equal([6, 7])
      expect(await vectorsOf(shard)).to.deep.equal([6, 7])
    })
  }

  it('keeps the document in view while a transaction holds its artifacts alone', async () => {
    await using bench = await start()
    const { shard } = bench
    await write(shard, putOp('k', 1))
    const before = await shard.read(key)
    const id = newId(bench)
    await prepare(bench, id, alone([written(6)]))
    const decision = await decide(bench, id, 'commit')

    const held = await shard.read(key)

    const { signal } = new AbortController()
    const pages = await Array.fromAsync(await shard.scan({ range: shard.range, signal }))
    await shard.resolve({ transactionId: id, decision })
    const after = await shard.read(key)
    expect(held).to.deep.equal(before)
    expect(pages.flat()).to.have.length(1)
    expect(after && versionOf(after)).to.equal(before && versionOf(before))
  })

  it('drops what an aborted transaction would have written', async () => {
    await using bench = await start()
    const { shard } = bench
    await write(shard, withArtifacts(1, [written(5)]))
    const id = newId(bench)
    await prepare(bench, id, alone([written(6)]))

    const decision = await decide(bench, id, 'abort')

    expect(await vectorsOf(shard)).to.deep.equal([5, undefined])
    await shard.resolve({ transactionId: id, decision })
    expect(await vectorsOf(shard)).to.deep.equal([5, undefined])
  })
}
