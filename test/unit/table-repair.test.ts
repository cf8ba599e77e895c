import { expect } from 'chai'
import { SwarmHarness } from '../harness/swarm-harness.ts'

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

  it('is left alone while somebody works on it', async () => {
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
