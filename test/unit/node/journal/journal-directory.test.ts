import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { DiskJournalDirectory } from '../../../../node/journal/disk-journal-directory.ts'
import { describeJournalDirectory } from '../../../conformance/journal-directory.ts'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { errorOf } from '../../../support/error-of.ts'

describeJournalDirectory('DiskJournalDirectory', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'quarry-journal-'))
  return {
    directory: await DiskJournalDirectory.open(path.join(root, 'journal')),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  }
})

describeJournalDirectory('FaultyDirectory', async () => ({
  directory: new FaultyDisk().directory,
  [Symbol.asyncDispose]: async () => undefined,
}))

describe('FaultyDirectory', () => {
  it('loses a file in a power failure whose directory was not synced', async () => {
    const disk = new FaultyDisk()
    await disk.directory.allocate('synced', 8)
    await disk.directory.sync()
    await disk.directory.allocate('unsynced', 8)

    disk.restart()

    expect(await disk.directory.list()).to.deep.equal(['synced'])
  })

  it('brings back an old name that was changed without a sync', async () => {
    const disk = new FaultyDisk()
    await disk.directory.allocate('old', 8)
    await disk.directory.sync()
    await disk.directory.rename('old', 'new')

    disk.restart()

    expect(await disk.directory.list()).to.deep.equal(['old'])
  })

  it('keeps a completed write, and any part of an interrupted one', async () => {
    const found = new Set<string>()
    for (let seed = 1; seed <= 60; seed++) {
      const disk = new FaultyDisk(seed)
      await disk.directory.allocate('file', 2048)
      await disk.directory.sync()
      const file = await disk.directory.open('file')
      await file.write([Buffer.alloc(512, 'a')], 0)
      disk.crashAt(disk.writeCount + 1, 'before')
      await errorOf(() => file.write([Buffer.alloc(1024, 'b')], 512))
      disk.restart()
      const content = disk.directory.contentOf('file')
      found.add([0, 512, 1024].map((at) => content.toString('latin1', at, at + 1)).join(''))
    }

    expect(found).to.deep.equal(new Set(['a\0\0', 'ab\0', 'a\0b', 'abb']))
  })

  it('leaves an unknown part of a write that failed', async () => {
    const found = new Set<string>()
    for (let seed = 1; seed <= 40; seed++) {
      const disk = new FaultyDisk(seed)
      await disk.directory.allocate('file', 512)
      const file = await disk.directory.open('file')
      disk.directory.failNextWrite()
      expect(await errorOf(() => file.write([Buffer.alloc(512, 'a')], 0))).to.be.instanceOf(Error)
      found.add(disk.directory.contentOf('file').toString('latin1', 0, 1))
    }

    expect(found).to.deep.equal(new Set(['a', '\0']))
  })

  it('refuses to allocate on a full disk', async () => {
    const disk = new FaultyDisk()
    disk.failWrites('DISK_FULL')

    const refused = await errorOf(() => disk.directory.allocate('file', 512))

    expect(refused).to.include({ code: 'DISK_FULL' })
    expect(await disk.directory.list()).to.deep.equal([])
  })
})
