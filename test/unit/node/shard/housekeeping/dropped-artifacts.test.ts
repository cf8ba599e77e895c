import { expect } from 'chai'
import { timestampAtMs } from '../../../../../node/clock/hybrid-clock.ts'
import type { WriteOp } from '../../../../../node/shard/command/command.ts'
import { NO_SETTINGS } from '../../../../../node/shard/command/table-settings.ts'
import { storedProgress } from '../../../../../node/shard/format/enrichment-progress.ts'
import { encodeArtifact } from '../../../../../node/embedding/artifact.ts'
import {
  keyspaceRange,
  KEYSPACES,
  parseIndexedKey,
} from '../../../../../node/shard/format/keyspace.ts'
import { readLog } from '../../../../../node/shard/format/stored-log.ts'
import {
  DroppedArtifacts,
  UNKNOWN_MS_MIN,
} from '../../../../../node/shard/housekeeping/dropped-artifacts.ts'
import { collectHistory } from '../../../../../node/shard/housekeeping/history-collection.ts'
import { countTo } from '../../../../support/loads/load.ts'
import { vectorWrite } from '../../../../support/artifacts.ts'
import { deleteOp, putOp, ShardWorld } from '../../../../support/worlds/shard-world.ts'

const KEPT = '0123456789abcdef'
const DROPPED = 'fedcba9876543210'
const indexes = [{ id: KEPT, kind: 'vectors', name: 'vec', memOnly: false }]
const END_OF_TIME = timestampAtMs(2 ** 47)

async function openWorld(): Promise<ShardWorld> {
  const world = await ShardWorld.open(['s'])
  await world.shard('s').led.setSettings({ ...NO_SETTINGS, indexes })
  return world
}

function put(key: string, ...ids: readonly string[]): WriteOp {
  const op = putOp(key, 1)
  return op.kind === 'put' ? { ...op, artifacts: ids.map((id) => vectorWrite(id, 1)) } : op
}

async function write(world: ShardWorld, ...ops: readonly WriteOp[]): Promise<void> {
  const shard = world.shard('s')
  await shard.write({ checks: [], ops, ttl: undefined })
  await shard.settled()
}

/** As `index key`, in order. */
async function artifactsIn(world: ShardWorld): Promise<readonly string[]> {
  const pages = await Array.fromAsync(world.shard('s').store.pages(keyspaceRange('artifacts')))
  return pages.flat().map(([stored]) => {
    const { index, key } = parseIndexedKey(stored)
    return `${index.slice(0, 4)} ${key.toString()}`
  })
}

describe('artifacts that nobody needs', () => {
  it('go in pieces when their index has been unknown long enough', async () => {
    await using world = await openWorld()
    const keys = countTo(2500).map((n) => `k${String(n).padStart(4, '0')}`)
    await write(world, ...keys.map((key) => put(key, DROPPED)), put('a', KEPT, DROPPED))
    const { led } = world.shard('s')
    const before = led.appliedSequence
    const dropped = new DroppedArtifacts()

    const atFirst = await dropped.collect(led, 1000)
    const soon = await dropped.collect(led, 1000 + UNKNOWN_MS_MIN - 1)
    const later = await dropped.collect(led, 1000 + UNKNOWN_MS_MIN)
    const again = await dropped.collect(led, 1000 + 3 * UNKNOWN_MS_MIN)

    expect([atFirst, soon, later, again]).to.deep.equal([0, 0, 2501, 0])
    expect(await artifactsIn(world)).to.deep.equal(['0123 a'])
    expect(led.appliedSequence - before, 'commands').to.equal(3)
    const pages = await Array.fromAsync(readLog(led.store, before + 1))
    const touched = pages.flat().flatMap(({ entry }) => [...entry.touches])
    expect(touched, 'no index need look').to.deep.equal([])
  })

  it('stay when the index that was unknown becomes known', async () => {
    await using world = await openWorld()
    await write(world, put('a', DROPPED))
    const { led } = world.shard('s')
    const dropped = new DroppedArtifacts()
    await dropped.collect(led, 0)

    const found = { id: DROPPED, kind: 'vectors', name: 'late', memOnly: false }
    await led.setSettings({ ...NO_SETTINGS, indexes: [...indexes, found] })
    await dropped.collect(led, UNKNOWN_MS_MIN)
    await led.setSettings({ ...NO_SETTINGS, indexes })

    expect(await dropped.collect(led, 2 * UNKNOWN_MS_MIN)).to.equal(0)
    expect(await artifactsIn(world)).to.deep.equal(['fedc a'])
  })

  it('of a deleted document go with its tombstone', async () => {
    await using world = await openWorld()
    await write(world, put('a', KEPT), put('b', KEPT))
    await write(world, deleteOp('a'))
    expect(await artifactsIn(world)).to.deep.equal(['0123 a', '0123 b'])

    await collectHistory(world.shard('s').led, END_OF_TIME)

    expect(await artifactsIn(world)).to.deep.equal(['0123 b'])
  })

  it('of a deleted document go when another one takes its key', async () => {
    await using world = await openWorld()
    await write(world, put('a', KEPT), put('b', KEPT))
    await write(world, deleteOp('a'), deleteOp('b'))

    await write(world, put('a'), put('b', KEPT))

    expect(await artifactsIn(world)).to.deep.equal(['0123 b'])
    const [found] = await world.shard('s').artifacts({ keys: [Buffer.from('b')], indexes: [KEPT] })
    expect(found?.[0]).to.not.equal(undefined)
  })

  it('go with the marks of parked ones, and with how far they were made', async () => {
    await using world = await openWorld()
    const { led, store } = world.shard('s')
    const computed = { id: DROPPED, kind: 'vectors', name: 'own', memOnly: false }
    await led.setSettings({ ...NO_SETTINGS, indexes: [...indexes, computed] })
    const outcome = await world.shard('s').write({ checks: [], ops: [put('a')], ttl: undefined })
    const version = outcome.kind === 'written' ? outcome.version : timestampAtMs(0)
    const head = { kind: 'parked', ordinal: 0, sourceHash: undefined, attempts: 1 } as const
    const item = { key: Buffer.from('a'), version, artifact: encodeArtifact(head) }
    await led.enrich({
      index: DROPPED,
      items: [{ ...item, mark: 'refused' }],
      progress: { sequence: 1, spans: [] },
    })
    await led.setSettings({ ...NO_SETTINGS, indexes })
    const dropped = new DroppedArtifacts()
    await dropped.collect(led, 0)

    const count = await dropped.collect(led, UNKNOWN_MS_MIN)

    expect(count).to.equal(3)
    const left = await Array.fromAsync(store.pages({ gte: Buffer.of(KEYSPACES.parked) }))
    expect(left).to.deep.equal([])
    expect(storedProgress(store, DROPPED)).to.equal(undefined)
    expect(await dropped.collect(led, 2 * UNKNOWN_MS_MIN)).to.equal(0)
  })
})
