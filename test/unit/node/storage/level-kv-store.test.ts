import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import { DiskGuard } from '../../../../node/storage/disk-guard.ts'
import { LevelKvStore } from '../../../../node/storage/level-kv-store.ts'
import {
  bytes,
  describeDurableKvStore,
  describeKvStore,
  put,
  textsOf,
} from '../../../conformance/kv-store.ts'
import { errorOf } from '../../../support/error-of.ts'

const open = (directory: string): Promise<LevelKvStore> =>
  LevelKvStore.open(directory, { clock: systemClock })

describe('LevelKvStore', () => {
  let root = ''
  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-level-'))
  })
  after(() => rm(root, { recursive: true, force: true }))

  let count = 0
  const nextDirectory = (): string => path.join(root, `${(count += 1)}`)

  describeKvStore('LevelKvStore', () => open(nextDirectory()))
  describeDurableKvStore('LevelKvStore', async () => {
    const directory = nextDirectory()
    return { store: await open(directory), reopen: () => open(directory) }
  })

  it('names the directory that another process holds', async () => {
    const directory = nextDirectory()
    await using holder = await open(directory)

    const error = await errorOf(() => open(directory))

    expect(error).to.be.instanceOf(Error).with.property('message').that.includes(directory)
    expect(holder.get(bytes('a'))).to.equal(undefined)
  })

  it('creates the database again after a power failure in the first opening', async () => {
    const directory = nextDirectory()
    await leaveFirstOpening(directory, '')

    await using store = await open(directory)
    await store.write([put('a', '1')], { sync: true })

    expect(store.get(bytes('a'))).to.deep.equal(bytes('1'))
  })

  it('does not change a damaged directory that has writes', async () => {
    const directory = nextDirectory()
    await leaveFirstOpening(directory, 'written')

    const error = await errorOf(() => open(directory))

    expect(error).to.include({ code: 'CORRUPTION' })
    expect(await readFile(path.join(directory, '000003.log'), 'utf8')).to.equal('written')
  })

  it('tells of a device that fails a write, and writes nothing more', async () => {
    const told: unknown[] = []
    const directory = nextDirectory()
    const options = { clock: systemClock, writeBufferBytes: 64 * 1024 }
    await using store = await LevelKvStore.open(directory, {
      ...options,
      onFailure: ({ code }) => told.push(code),
    })
    await rm(directory, { recursive: true })
    const large = put('a', 'x'.repeat(128 * 1024))

    // The first fills LevelDB's log, so the second needs a new one.
    await store.write([large], { sync: false })
    const failed = await errorOf(() => store.write([large], { sync: false }))
    const refused = await errorOf(() => store.write([put('b', '1')], { sync: false }))

    expect(told).to.deep.equal(['UNAVAILABLE'])
    expect(failed).to.include({ code: 'UNAVAILABLE' })
    expect(refused).to.include({ code: 'UNAVAILABLE' })
  })

  it('asks the guard before each write, and writes nothing when it refuses', async () => {
    let bavail = 0
    const guard = new DiskGuard({
      directory: root,
      clock: systemClock,
      reserveBytes: 100,
      statfs: () => ({ blocks: bavail, bavail, bsize: 1 }),
    })
    await using store = await LevelKvStore.open(nextDirectory(), { clock: systemClock, guard })

    const refusal = await errorOf(() => store.write([put('a', '1')], { sync: true }))
    bavail = 1000
    await store.write([put('b', '1')], { sync: true })

    expect(refusal).to.include({ code: 'DISK_FULL' })
    expect(store.get(bytes('a'))).to.equal(undefined)
    expect(await textsOf(store)).to.deep.equal(['b=1'])
    expect(store.generation).to.equal(0)
  })
})

/** LevelDB syncs the name of its first manifest, and not the manifest itself. */
async function leaveFirstOpening(directory: string, log: string): Promise<void> {
  await mkdir(directory)
  await writeFile(path.join(directory, 'CURRENT'), 'MANIFEST-000001\n')
  await writeFile(path.join(directory, 'MANIFEST-000001'), '')
  await writeFile(path.join(directory, '000003.log'), log)
}
