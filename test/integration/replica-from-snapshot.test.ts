// A replica of a replicated shard that fell behind is built from a snapshot of another one, and follows.

import { expect } from 'chai'
import path from 'node:path'
import type { LogPosition } from '../../node/journal/log-position.ts'
import { contentHashOf } from '../../node/replication/snapshot/content-hash.ts'
import { FIRST_PAGE } from '../../node/replication/snapshot/snapshot-messages.ts'
import { SnapshotTarget } from '../../node/replication/snapshot/snapshot-target.ts'
import { readAppliedPosition, snapshotReplicaOf } from '../../node/shard/replica-snapshot.ts'
import type { FaultyDisk } from '../support/fakes/faulty-disk.ts'
import { ReplicaSource } from '../support/worlds/replica-source.ts'
import { ReplicatedWorld, SHARD, type TestNode } from '../support/worlds/replicated-world.ts'
import { putOp } from '../support/worlds/shard-world.ts'
import { SnapshotWorld } from '../support/worlds/snapshot-world.ts'
import { openTestJournal } from '../support/worlds/test-journal.ts'

const READER = 'n3'
const never = new AbortController().signal

async function write(world: ReplicatedWorld, from: number, to: number): Promise<void> {
  await world.until(() => world.nodes.some(({ isServing }) => isServing))
  for (let value = from; value < to; value++) {
    const ops = [putOp(`k${value % 7}`, value), putOp(`k${value}`, 'x'.repeat(2000))]
    await world.when(world.leader.shard.write({ checks: [], ops, ttl: undefined }))
  }
}

/** Receives a snapshot of `from` in the place of a store, as `Arrivals` would put it there. */
async function receiveFrom(from: TestNode, disk: FaultyDisk): Promise<LogPosition> {
  await using files = await SnapshotWorld.open()
  const { store } = from.shard
  files.replicas.set(SHARD, snapshotReplicaOf({ store, indexes: undefined }))
  const source = await files.source()
  const header = await source.open(READER, { logId: SHARD, atLeast: 1 })
  const target = await SnapshotTarget.open({
    header,
    storeDirectory: path.join(files.directory, 'store'),
    indexDirectory: path.join(files.directory, 'indexes'),
    openStore: () => disk.open(SHARD),
    readPosition: readAppliedPosition,
    admit: () => undefined,
  })
  const wanted = { id: header.id, after: FIRST_PAGE }
  for await (const page of source.pages(READER, wanted, never)) await target.take(page)
  await target.finish()
  return header.position
}

async function hashes(world: ReplicatedWorld): Promise<readonly string[]> {
  const { committedSequence } = world.leader.shard
  await world.until(() =>
    world.nodes.every(({ shard }) => shard.appliedSequence >= committedSequence),
  )
  return Promise.all(
    world.nodes.map(async ({ shard }) => {
      const position = readAppliedPosition(shard.store)
      const { hash } = await contentHashOf(shard.store)
      return `${JSON.stringify(position)} ${hash.toString('hex')}`
    }),
  )
}

describe('a replica that fell behind', () => {
  it('is built from a snapshot, follows, and has the content of the others (INV-R7)', async () => {
    await using world = await ReplicatedWorld.open()
    await write(world, 0, 40)
    const behind = world.node(READER)
    await world.kill(behind)
    await write(world, 40, 60)
    await behind.disk.destroy(SHARD)
    const position = await receiveFrom(world.node('n2'), behind.disk)
    const journal = await openTestJournal({ disk: behind.disk, clock: world.clock, mayMark: true })
    const log = new ReplicaSource(journal, SHARD)
    await log.restart(position)
    await journal.close()

    await world.restart(behind)
    await write(world, 60, 80)
    await world.until(() => world.control.configuration.inSync.length === 3)

    const [one, ...others] = await hashes(world)
    expect(position.sequence).to.be.greaterThan(50)
    expect(others).to.deep.equal([one, one])
  })
})
