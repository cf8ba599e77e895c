import { expect } from 'chai'
import { errorOf } from '../../../../support/error-of.ts'
import {
  documentOf,
  fateOf,
  insert,
  PROPOSE,
  settle,
  SwarmHarness,
  writesOf,
} from '../../../../support/servers/swarm-harness.ts'

/** Lets the first write of `work` through and fails all behind it, as a disk that fills up would. */
async function failAfterFirstWrite(
  { disk }: SwarmHarness,
  work: () => Promise<unknown>,
): Promise<unknown> {
  disk.hold('after')
  const outcome = work().catch((error: unknown) => error)
  await disk.whenHeld()
  disk.failWrites('DISK_FULL')
  disk.release()
  const answer = await outcome
  disk.failWrites(undefined)
  return answer
}

describe('a table whose state was left half changed', () => {
  it('is completed when its creation failed midway', async () => {
    await using swarm = await SwarmHarness.open()

    const answer = await failAfterFirstWrite(swarm, () => swarm.store.createTable('t', {}))
    await swarm.housekeeper.repair()

    expect(answer).to.include({ code: 'DISK_FULL' })
    expect(await swarm.store.getTable('t')).to.include({ name: 't' })
  })

  it('is dropped when its drop failed midway, and its name is free again', async () => {
    await using swarm = await SwarmHarness.open()
    await swarm.store.createTable('t', {})

    const answer = await failAfterFirstWrite(swarm, () => swarm.store.dropTable('t'))
    await swarm.housekeeper.repair()
    await swarm.store.createTable('t', { num_shards: 2 })

    expect(answer).to.include({ code: 'DISK_FULL' })
    expect(Object.keys((await swarm.store.getTable('t')).shards)).to.have.lengthOf(2)
  })

  it('is left alone while another operation works on it', async () => {
    await using swarm = await SwarmHarness.open()

    swarm.disk.hold('after')
    const creation = swarm.store.createTable('t', {})
    await swarm.disk.whenHeld()
    const repair = swarm.housekeeper.repair()
    swarm.disk.release()
    await Promise.all([creation, repair])

    expect(await swarm.store.listTables({})).to.have.lengthOf(1)
  })
})

describe('a table that is dropped three times at once', () => {
  it('is dropped for one caller, and not found for the others', async () => {
    await using swarm = await SwarmHarness.open()
    for (let round = 0; round < 10; round++) {
      await swarm.store.createTable('t', { num_shards: 3 })

      const fates = await Promise.all([1, 2, 3].map(() => fateOf(swarm.store.dropTable('t'))))

      const codes = fates.map((fate) => (fate.kind === 'refused' ? fate.error.code : 'OK'))
      expect(codes.toSorted()).to.deep.equal(['NOT_FOUND', 'NOT_FOUND', 'OK'])
    }
  })
})

describe('a drop of an absent table or index', () => {
  it('is refused with NOT_FOUND', async () => {
    await using swarm = await SwarmHarness.open()
    await swarm.store.createTable('t', {})

    const table = await errorOf(() => swarm.store.dropTable('none'))
    const index = await errorOf(() => swarm.store.dropIndex('t', 'none'))

    expect(table).to.include({
      code: 'NOT_FOUND',
      message: 'table "none" does not exist, so nothing was dropped',
    })
    expect(index).to.include({
      code: 'NOT_FOUND',
      message: 'index "none" of table "t" does not exist, so nothing was dropped',
    })
  })
})

describe('a table whose failed shard keeps the record of a transaction', () => {
  it('is not dropped while another table waits for the outcome (A5)', async () => {
    await using swarm = await SwarmHarness.open()
    await swarm.store.createTable('a', {})
    await swarm.store.createTable('b', {})
    const lost = Object.keys((await swarm.store.getTable('a')).shards)[0] ?? ''
    const both = ['a', 'b'].map((table) => writesOf(table, { inserts: [insert('k', {})] }))
    // One write of the journal prepares twice and decides; the power fails before the next resolves.
    swarm.disk.crashAt(swarm.disk.writeCount + 2, 'before')
    await fateOf(swarm.store.crossBatch(both, PROPOSE))
    await settle()
    await swarm.crash()
    swarm.disk.restart()
    await swarm.disk.destroy(lost)
    await swarm.start()

    const refused = await errorOf(() => swarm.store.dropTable('a'))
    await swarm.store.dropTable('b')
    await swarm.store.dropTable('a')

    expect(refused).to.include({ code: 'UNAVAILABLE' })
    expect(await errorOf(async () => documentOf(swarm.store, 'a', 'k'))).to.include({
      code: 'NOT_FOUND',
    })
  })
})
