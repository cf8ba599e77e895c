import { DISK_WORK_HERE, PooledDiskWork } from '../../../../../node/index/files/disk-work.ts'
import { describeDiskWork } from '../../../../conformance/disk-work.ts'
import { HeldDiskWork } from '../../../../support/fakes/held-disk-work.ts'

describeDiskWork('DISK_WORK_HERE', () => ({ disk: DISK_WORK_HERE }))

describeDiskWork('PooledDiskWork', () => ({ disk: new PooledDiskWork() }))

describeDiskWork('HeldDiskWork', () => {
  const disk = new HeldDiskWork()
  return {
    disk,
    settle: () => {
      while (disk.heldCount > 0) disk.release(disk.heldCount - 1)
    },
  }
})
