import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { isServiceError } from '../../lib/errors.ts'
import { DiskGuard } from '../../node/storage/disk-guard.ts'
import { LevelKvStore } from '../../node/storage/level-kv-store.ts'
import { bytes, keysOf, put } from '../conformance/kv-store.ts'
import { errorOf } from '../support/error-of.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024
const SYNC = { sync: true }

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Writes 64 KiB values that do not compress until the store refuses; answers what it took. */
async function writeUntilRefused(store: LevelKvStore): Promise<{ keys: string[]; error: unknown }> {
  const keys: string[] = []
  for (let index = 0; index < 2000; index += 1) {
    const key = `${index}`.padStart(6, '0')
    const value = randomBytes(64 * 1024)
    try {
      await store.write([{ type: 'put', key: bytes(key), value }], SYNC)
    } catch (error) {
      return { keys, error }
    }
    keys.push(key)
  }
  return expect.fail('the disk did not become full')
}

describe('a full disk', () => {
  let mount = ''

  beforeEach(async () => {
    mount = await mkdtemp(path.join(tmpdir(), 'quarry-full-'))
    try {
      run('mount', '-t', 'tmpfs', '-o', 'size=40m', 'tmpfs', mount)
    } catch (error) {
      throw new Error(`this test needs the right to mount a tmpfs at ${mount}`, { cause: error })
    }
    // What is deleted later to make room.
    await writeFile(path.join(mount, 'ballast'), Buffer.alloc(20 * MIB, 1))
  })

  afterEach(async () => {
    run('umount', mount)
    await rmdir(mount)
  })

  const freeRoom = (): Promise<void> => rm(path.join(mount, 'ballast'))

  it('refuses writes at the real end of the disk, serves reads, and resumes by itself', async () => {
    const directory = path.join(mount, 'db')
    await using store = await LevelKvStore.open(directory, { clock: systemClock })

    const { keys, error } = await writeUntilRefused(store)

    expect(error).to.include({ code: 'DISK_FULL' })
    const again = await errorOf(() => store.write([put('small', '1')], SYNC))
    expect(again).to.include({ code: 'DISK_FULL' })
    const found = keys.filter((key) => store.get(bytes(key))?.length === 64 * 1024)
    expect(found).to.deep.equal(keys)
    expect(await keysOf(store)).to.deep.equal(keys)

    await freeRoom()
    await until(async () => store.generation > 0)
    await store.write([put('z', 'after')], SYNC)

    expect(store.generation).to.be.greaterThan(0)
    expect(store.get(bytes('z'))?.toString()).to.equal('after')
    expect(await keysOf(store)).to.include.members([...keys, 'z'])
  })

  it('loses no write that was acknowledged before or after it, across a restart', async () => {
    const directory = path.join(mount, 'db')
    const store = await LevelKvStore.open(directory, { clock: systemClock })
    const { keys } = await writeUntilRefused(store)
    await freeRoom()
    await until(async () => store.generation > 0)
    for (const key of ['x', 'y', 'z']) await store.write([put(key, '')], SYNC)
    await store.close()

    await using again = await LevelKvStore.open(directory, { clock: systemClock })

    expect(await keysOf(again)).to.include.members([...keys, 'x', 'y', 'z'])
  })

  it('lets a store that waits for room close and open again', async () => {
    const directory = path.join(mount, 'db')
    const store = await LevelKvStore.open(directory, { clock: systemClock })
    const { keys } = await writeUntilRefused(store)

    await store.close()
    await freeRoom()
    await using again = await LevelKvStore.open(directory, { clock: systemClock })

    expect(await keysOf(again)).to.include.members(keys)
  })

  it('with a reserve refuses writes before the real end, so that no store has to be reopened', async () => {
    const guard = new DiskGuard({ directory: mount, clock: systemClock, reserveBytes: 12 * MIB })
    const options = { clock: systemClock, guard }
    await using store = await LevelKvStore.open(path.join(mount, 'db'), options)

    const { keys, error } = await writeUntilRefused(store)
    expect(isServiceError(error) ? error.message : error).to.match(/^the disk is full: .* reserved/)
    expect(await keysOf(store)).to.deep.equal(keys)

    await freeRoom()
    await store.write([put('z', 'after')], SYNC)

    expect(store.generation).to.equal(0)
    expect(store.get(bytes('z'))?.toString()).to.equal('after')
  })
})
