import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { DiskGuard } from '../../../../node/storage/disk-guard.ts'
import { errorOf } from '../../../support/error-of.ts'

const MIB = 1024 * 1024

function guardOver(disk: { free: number }, reserveBytes: number) {
  const clock = new ManualClock()
  const seen = { looks: 0 }
  const statfs = () => {
    seen.looks += 1
    return { blocks: (20 * MIB) / 512, bavail: disk.free / 512, bsize: 512 }
  }
  return { clock, seen, guard: new DiskGuard({ directory: '/d', clock, reserveBytes, statfs }) }
}

function silentFileSystem(): never {
  throw new Error('EIO')
}

describe('DiskGuard', () => {
  it('admits exactly the writes that leave the reserve untouched', async () => {
    const { guard } = guardOver({ free: 10 * MIB }, 9 * MIB)

    guard.assertRoomFor(MIB)
    const error = await errorOf(() => guard.assertRoomFor(MIB + 1))

    expect(error).to.include({
      code: 'DISK_FULL',
      message:
        'the disk is full: 10.0 MiB free, 9.0 MiB reserved; writes resume when there is room',
    })
  })

  it('tells how much room there is, and nothing where the file system does not say', () => {
    const { guard, clock } = guardOver({ free: 9 * MIB }, MIB)
    const silent = new DiskGuard({ directory: '/d', clock, statfs: silentFileSystem })

    expect(guard.room()).to.deep.equal({ totalBytes: 20 * MIB, freeBytes: 9 * MIB })
    expect(silent.room()).to.equal(undefined)
  })

  it('admits what makes room into half of the reserve', async () => {
    const { guard } = guardOver({ free: 9 * MIB }, 9 * MIB)

    guard.assertRoomFor(4 * MIB, true)

    const refused = [
      await errorOf(() => guard.assertRoomFor(5 * MIB, true)),
      await errorOf(() => guard.assertRoomFor(1)),
    ]
    for (const error of refused) expect(error).to.include({ code: 'DISK_FULL' })
  })

  it('measures the disk at most every 250 ms', () => {
    const { guard, clock, seen } = guardOver({ free: 100 * MIB }, MIB)
    for (let ms = 0; ms < 1000; ms += 1) {
      guard.assertRoomFor(1)
      clock.advance(1)
    }

    expect(seen.looks).to.equal(4)
  })

  it('measures again after each 8 MiB, however little time has passed', () => {
    const { guard, seen } = guardOver({ free: 1000 * MIB }, MIB)
    for (let written = 0; written < 64; written += 1) guard.assertRoomFor(MIB)

    expect(seen.looks).to.be.within(8, 10)
  })

  it('counts the bytes admitted since the last measurement', async () => {
    const disk = { free: 10 * MIB }
    const { guard } = guardOver(disk, 8 * MIB)
    guard.assertRoomFor(MIB)
    disk.free -= MIB
    guard.assertRoomFor(MIB)
    disk.free -= MIB

    expect(await errorOf(() => guard.assertRoomFor(1))).to.include({ code: 'DISK_FULL' })
  })

  it('admits writes as soon as there is room, without waiting for the next period', async () => {
    const disk = { free: MIB }
    const { guard } = guardOver(disk, MIB)
    expect(await errorOf(() => guard.assertRoomFor(1))).to.include({ code: 'DISK_FULL' })

    disk.free = 2 * MIB

    guard.assertRoomFor(1)
    expect(guard.hasRoomFor(MIB)).to.equal(true)
    expect(guard.hasRoomFor(MIB + 1)).to.equal(false)
  })

  it('asks the operating system by default', () => {
    const clock = new ManualClock()
    const guard = new DiskGuard({ directory: import.meta.dirname, clock, reserveBytes: 0 })

    expect(guard.hasRoomFor(0)).to.equal(true)
    expect(guard.hasRoomFor(Number.MAX_SAFE_INTEGER)).to.equal(false)
  })
})
