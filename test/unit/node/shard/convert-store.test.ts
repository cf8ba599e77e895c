import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import { timestampAtMs } from '../../../../node/clock/hybrid-clock.ts'
import { convertStores } from '../../../../node/shard/convert-store.ts'
import { decodeApplied, NOTHING_APPLIED } from '../../../../node/shard/format/applied-position.ts'
import { APPLIED_KEY, documentKey, logKey } from '../../../../node/shard/format/keyspace.ts'
import { encodeLogEntry } from '../../../../node/shard/format/log-entry.ts'
import type { KvOp } from '../../../../node/storage/kv-store.ts'
import { LevelStoreFactory } from '../../../../node/storage/level-store-factory.ts'
import { errorOf } from '../../../support/error-of.ts'

const KEY = Buffer.from('k')

/** An entry of a log without a journal, with the document that it wrote. */
function entry(sequence: number): readonly KvOp[] {
  const stamp = timestampAtMs(sequence)
  const touches = [{ key: KEY, changed: 'document' as const, deleted: false, previous: undefined }]
  const value = encodeLogEntry({ kind: 'write', stamp, version: stamp, touches })
  return [
    { type: 'put', key: logKey(sequence), value },
    { type: 'put', key: documentKey(KEY), value: Buffer.from(`after ${sequence}`) },
  ]
}

describe('converting the stores of a data directory without a journal', () => {
  let root = ''
  const open = (ownLog: 'replay' | 'discard'): Promise<LevelStoreFactory> =>
    LevelStoreFactory.open(root, { clock: systemClock, ownLog })

  const write = async (sequences: readonly number[]): Promise<void> => {
    await using store = await (await open('replay')).open('shard')
    for (const sequence of sequences) await store.write(entry(sequence), { sync: true })
  }

  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-convert-'))
  })
  afterEach(() => rm(root, { recursive: true, force: true }))

  it("keeps the writes in LevelDB's own log, and records the end of the log", async () => {
    await write([4, 5, 6])

    await convertStores(await open('replay'))

    await using store = await (await open('discard')).open('shard')
    const applied = store.get(APPLIED_KEY)
    expect(applied && decodeApplied(applied)).to.deep.equal({ ...NOTHING_APPLIED, sequence: 6 })
    expect(store.get(documentKey(KEY))?.toString()).to.equal('after 6')
  })

  it('may be interrupted and begun again', async () => {
    await write([1, 2])

    await convertStores(await open('replay'))
    await convertStores(await open('replay'))

    await using store = await (await open('discard')).open('shard')
    const applied = store.get(APPLIED_KEY)
    expect(applied && decodeApplied(applied).sequence).to.equal(2)
  })

  it('refuses a store that has lost entries', async () => {
    await write([1, 2, 4])

    const error = await errorOf(async () => convertStores(await open('replay')))

    expect(error).to.include({ code: 'CORRUPTION' })
    expect(String(error)).to.include('log entry 3 is missing')
  })
})
