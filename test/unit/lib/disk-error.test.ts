import { expect } from 'chai'
import { diskErrorCode } from '../../../lib/disk-error.ts'

const failure = (code: string) => Object.assign(new Error('write failed'), { code })

describe('diskErrorCode', () => {
  it('distinguishes a full disk and a damaged one from every other failure', () => {
    expect(diskErrorCode(failure('ENOSPC'))).to.equal('DISK_FULL')
    expect(diskErrorCode(failure('EDQUOT'))).to.equal('DISK_FULL')
    expect(diskErrorCode(failure('EIO'))).to.equal('CORRUPTION')
    expect(diskErrorCode(failure('ENOENT'))).to.equal(undefined)
    expect(diskErrorCode(new Error('ENOSPC'))).to.equal(undefined)
    expect(diskErrorCode('ENOSPC')).to.equal(undefined)
  })
})
