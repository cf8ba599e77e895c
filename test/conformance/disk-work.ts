// What everything that syncs and closes files promises (node/index/files/disk-work.ts).

import { fstatSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import type { DiskWork } from '../../node/index/files/disk-work.ts'
import { until } from '../support/until.ts'

export interface DiskWorkUnderTest {
  readonly disk: DiskWork
  /** Lets what was asked for happen. Default: it happens by itself. */
  readonly settle?: () => void
}

export function describeDiskWork(name: string, open: () => DiskWorkUnderTest): void {
  describe(`${name} as disk work`, () => {
    let directory = ''
    beforeEach(() => {
      directory = mkdtempSync(path.join(tmpdir(), 'quarry-disk-work-'))
    })
    afterEach(() => rmSync(directory, { recursive: true, force: true }))

    it('syncs files and directories, each once', async () => {
      const { disk, settle = () => undefined } = open()
      const file = path.join(directory, 'file')
      writeFileSync(file, 'content')
      const opened = [openSync(file, 'r+'), openSync(directory, 'r')]
      const ends: (Error | undefined)[] = []

      for (const fd of opened) disk.sync(fd, (error) => ends.push(error))
      settle()
      await until(async () => ends.length === 2)

      expect(ends).to.deep.equal([undefined, undefined])
      for (const fd of opened) disk.close(fd)
    })

    it('tells why a sync failed', async () => {
      const { disk, settle = () => undefined } = open()
      const ends: (Error | undefined)[] = []

      disk.sync(NO_DESCRIPTOR, (error) => ends.push(error))
      settle()
      await until(async () => ends.length === 1)

      expect(ends[0]).to.have.property('code', 'EBADF')
    })

    it('closes a descriptor for good', async () => {
      const { disk } = open()
      const fd = openSync(directory, 'r')
      const { ino } = fstatSync(fd)

      disk.close(fd)

      await until(async () => inodeOf(fd) !== ino)
    })
  })
}

const NO_DESCRIPTOR = 2 ** 30

/** Another thread may have opened something else under the number. */
function inodeOf(fd: number): number | undefined {
  try {
    return fstatSync(fd).ino
  } catch {
    return undefined
  }
}
