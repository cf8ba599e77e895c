// What a shard does with the artifacts that its leader makes. Part of the contract in shard.ts.

import { expect } from 'chai'
import { TIMESTAMP_ZERO, type Timestamp } from '../../node/clock/hybrid-clock.ts'
import { encodeArtifact, headOfArtifact } from '../../node/embedding/artifact.ts'
import type { IndexDefinition } from '../../node/index/host/index-definition.ts'
import type { WriteOp } from '../../node/shard/command/command.ts'
import type {
  EnrichedDocument,
  EnrichmentProgress,
} from '../../node/shard/command/enrich-command.ts'
import { NO_SETTINGS } from '../../node/shard/command/table-settings.ts'
import type { TransactionId } from '../../node/shard/command/transaction-id.ts'
import { versionOf } from '../../node/shard/format/document-record.ts'
import { storedProgress } from '../../node/shard/format/enrichment-progress.ts'
import { indexedRange, parseIndexedKey } from '../../node/shard/format/keyspace.ts'
import { readLog } from '../../node/shard/format/stored-log.ts'
import { decodeParkedMark } from '../../node/shard/format/parked-mark.ts'
import type { LedShard } from '../../node/shard/led-shard.ts'
import type { Shard } from '../../node/shard/shard.ts'
import { vectorIn } from '../support/artifacts.ts'
import { failureOf } from '../support/failure-of.ts'
import { intervalOfKey } from '../support/worlds/routes.ts'
import { deleteOp, putOp } from '../support/worlds/shard-world.ts'

interface Bench extends AsyncDisposable {
  readonly shard: Shard
  readonly led: LedShard
}

const key = Buffer.from('k')
const INDEX = '0123456789abcdef'
const indexes: readonly IndexDefinition[] = [
  { id: INDEX, kind: 'vectors', name: 'vec', memOnly: false, settings: { external: false } },
]

function made(version: Timestamp, first = 1): EnrichedDocument {
  const rows = [{ start: 0, end: 0, vector: Float32Array.of(first, 2) }]
  const head = { kind: 'dense', ordinal: 0, sourceHash: Buffer.alloc(16, 7), dimension: 2 } as const
  return { key, version, artifact: encodeArtifact({ ...head, rows }), mark: 'none' }
}

function parked(version: Timestamp): EnrichedDocument {
  const head = { kind: 'parked', ordinal: 0, sourceHash: Buffer.alloc(16, 7), attempts: 3 } as const
  return { key, version, artifact: encodeArtifact(head), mark: 'unreachable' }
}

const write = (shard: Shard, ...ops: readonly WriteOp[]) =>
  shard.write({ checks: [], ops, ttl: undefined })

async function put(shard: Shard, value: number): Promise<Timestamp> {
  const outcome = await write(shard, putOp('k', value))
  if (outcome.kind !== 'written') throw new TypeError('the key is held')
  return outcome.version
}

const enrich = (
  { led }: Bench,
  items: readonly EnrichedDocument[],
  progress?: EnrichmentProgress,
) => led.enrich({ index: INDEX, items, progress })

async function vectorOf(shard: Shard): Promise<readonly number[] | undefined> {
  const [found = []] = await shard.artifacts({ keys: [key], indexes: [INDEX] })
  return vectorIn(found[0])
}

/** The marks of parked documents, as `key cause`. */
async function marksIn({ led }: Bench): Promise<readonly string[]> {
  const pages = await Array.fromAsync(led.store.pages(indexedRange('parked', INDEX)))
  return pages
    .flat()
    .map(([stored, mark]) => `${parseIndexedKey(stored).key.toString()} ${decodeParkedMark(mark)}`)
}

/** `newId` makes the id of a transaction that begins now. */
export function describeShardEnrichment<Under extends Bench>(
  open: () => Promise<Under>,
  newId: (bench: Under) => TransactionId,
): void {
  const start = async (): Promise<Under> => {
    const bench = await open()
    await bench.led.setSettings({ ...NO_SETTINGS, indexes })
    return bench
  }

  it('puts the artifact beside the version from which it was made, and leaves the document', async () => {
    await using bench = await start()
    const version = await put(bench.shard, 1)
    const before = await bench.shard.read(key)

    const outcome = await enrich(bench, [made(version)])

    expect(outcome).to.deep.equal({ written: 1, skipped: 0 })
    expect(await vectorOf(bench.shard)).to.deep.equal([1, 2])
    expect(await bench.shard.read(key)).to.deep.equal(before)
  })

  it('tells indexes of vectors, and not those of documents', async () => {
    await using bench = await start()
    const version = await put(bench.shard, 1)
    await bench.led.settled()
    const before = bench.led.appliedSequence

    await enrich(bench, [made(version)])

    const pages = await Array.fromAsync(readLog(bench.led.store, before + 1))
    const entries = pages
      .flat()
      .map(({ entry }) => ({ kind: entry.kind, touches: [...entry.touches] }))
    const touch = { key, changed: 'artifacts', deleted: false, previous: undefined }
    expect(entries).to.deep.equal([{ kind: 'enrich', touches: [touch] }])
  })

  it('skips documents that have changed since, were deleted or were never there', async () => {
    await using bench = await start()
    const { shard } = bench
    const old = await put(shard, 1)
    await put(shard, 2)
    const changed = await enrich(bench, [made(old)])
    await write(shard, deleteOp('k'))
    const deleted = await enrich(bench, [made(old), { ...made(old), key: Buffer.from('never') }])

    expect(changed).to.deep.equal({ written: 0, skipped: 1 })
    expect(deleted).to.deep.equal({ written: 0, skipped: 2 })
    await put(shard, 3)
    expect(await vectorOf(shard)).to.equal(undefined)
  })

  it('leaves no trace for an index that the table does not have', async () => {
    await using bench = await start()
    const version = await put(bench.shard, 1)
    await bench.led.setSettings(NO_SETTINGS)
    await bench.led.settled()
    const before = bench.led.appliedSequence

    const outcome = await enrich(bench, [made(version)], { sequence: 1, spans: [] })

    expect(outcome).to.deep.equal({ written: 0, skipped: 1 })
    expect(bench.led.appliedSequence).to.equal(before)
  })

  it('keeps the progress for the next leader', async () => {
    await using bench = await start()
    const walked = { after: key, last: undefined }
    const progress = { sequence: 7, spans: [walked, { after: undefined, last: key }] }

    await enrich(bench, [], progress)

    expect(storedProgress(bench.led.store, INDEX)).to.deep.equal(progress)
    expect(storedProgress(bench.led.store, 'fedcba9876543210')).to.equal(undefined)
  })

  it('marks parked documents until they have another artifact', async () => {
    await using bench = await start()
    const version = await put(bench.shard, 1)

    await enrich(bench, [parked(version)])

    const marks = await marksIn(bench)
    await enrich(bench, [{ ...made(version), mark: 'removed' }])
    expect(marks).to.deep.equal(['k unreachable'])
    expect(await marksIn(bench)).to.deep.equal([])
    expect(await vectorOf(bench.shard)).to.deep.equal([1, 2])
  })

  it('unmarks a parked document that is deleted', async () => {
    await using bench = await start()
    await enrich(bench, [parked(await put(bench.shard, 1))])

    await write(bench.shard, deleteOp('k'))
    await bench.led.settled()

    expect(await marksIn(bench)).to.deep.equal([])
  })

  it('is not kept from a document by a transaction, whose commit is another version', async () => {
    await using bench = await start()
    const { shard } = bench
    const version = await put(shard, 1)
    const id = newId(bench)
    const anchor = { tableId: 't', key }
    const begin = { participants: [intervalOfKey(anchor)] }
    const ops = [putOp('k', 2)]
    await shard.prepare({ transactionId: id, anchor, begin, checks: [], ops, ttl: undefined })

    const during = await enrich(bench, [made(version)])

    const commitAtLeast = TIMESTAMP_ZERO
    const decision = await shard.decide({
      transactionId: id,
      anchor: key,
      decision: 'commit',
      commitAtLeast,
    })
    await shard.resolve({ transactionId: id, decision })
    const after = await enrich(bench, [made(version, 9)])
    const record = await shard.read(key)
    expect([during.written, after.written]).to.deep.equal([1, 0])
    expect(await vectorOf(shard)).to.deep.equal([1, 2])
    expect(record && versionOf(record)).to.not.equal(version)
  })

  it('gives the artifact the ordinal of its document, also where another had the key', async () => {
    await using bench = await start()
    const { shard, led } = bench
    await put(shard, 1)
    await write(shard, deleteOp('k'))
    const version = await put(shard, 2)

    await enrich(bench, [made(version)])

    const [page = []] = await Array.fromAsync(led.store.pages(indexedRange('artifacts', INDEX)))
    expect(page.map(([, bytes]) => headOfArtifact(bytes).ordinal)).to.deep.equal([1])
  })

  it('refuses a sealed shard', async () => {
    await using bench = await start()
    const version = await put(bench.shard, 1)
    await bench.led.seal()

    const failure = await failureOf(enrich(bench, [made(version)]))

    expect(failure).to.include({ code: 'NOT_FOUND' })
  })
}
