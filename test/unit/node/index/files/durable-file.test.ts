import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { runAtOnce } from '../../../../../lib/sliced.ts'
import { DISK_WORK_HERE } from '../../../../../node/index/files/disk-work.ts'
import {
  DurableFile,
  removeDirectory,
  removeFile,
  replaceDurably,
} from '../../../../../node/index/files/durable-file.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { HeldDiskWork } from '../../../../support/fakes/held-disk-work.ts'

describe('durable files', () => {
  let directory = ''
  let file = ''
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'quarry-durable-'))
    file = path.join(directory, 'file')
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  it('throw a sync that failed at the next one, whatever that would say', async () => {
    const disk = new HeldDiskWork()
    const out = new DurableFile(file, disk)
    out.append(Buffer.alloc(2 ** 20))
    runAtOnce(out.keepUp())
    disk.fail(new Error('the disk lost it'))

    const error = await errorOf(() => runAtOnce(out.sync()))

    expect(error).to.have.property('message', 'the disk lost it')
    out.close()
  })

  it('do not wait for the disk while it is one piece behind, and do when it is two', () => {
    const disk = new HeldDiskWork()
    const out = new DurableFile(file, disk)
    for (const piece of ['synced', 'behind']) {
      out.append(Buffer.alloc(2 ** 20, piece))
      if (piece === 'synced') runAtOnce(out.keepUp())
    }

    const first = out.keepUp().next()

    expect(first.done).to.equal(false)
    expect(first.value).to.be.instanceOf(Promise)
    disk.release()
    out.close()
  })

  it('are closed once, after the sync that is under way', () => {
    const disk = new HeldDiskWork()
    const out = new DurableFile(file, disk)
    out.append(Buffer.from('content'))
    const syncing = out.sync()
    syncing.next()

    out.close()
    out.close()
    syncing.return()
    const before = disk.closed
    disk.release()

    expect([before, disk.closed]).to.deep.equal([0, 1])
  })

  it('take the place of others after what they name is durable, and before what comes next', () => {
    const disk = new HeldDiskWork()
    writeFileSync(file, 'old')
    const replacing = replaceDurably(file, Buffer.from('new'), disk)
    const seen: string[] = []
    while (replacing.next().done !== true) {
      seen.push(`${readdirSync(directory).toSorted().join(' ')}: ${readFileSync(file, 'utf8')}`)
      disk.release()
    }

    expect(seen).to.deep.equal(['file: old', 'file file.new: old', 'file: new'])
  })

  it('are removed, and are allowed to be missing', () => {
    writeFileSync(file, 'content')

    removeFile(file, DISK_WORK_HERE)
    removeFile(file, DISK_WORK_HERE)

    expect(readdirSync(directory)).to.deep.equal([])
  })

  it('are removed with their directory', () => {
    writeFileSync(file, 'content')

    removeDirectory(directory, DISK_WORK_HERE)
    removeDirectory(directory, DISK_WORK_HERE)

    expect(existsSync(directory)).to.equal(false)
  })
})
