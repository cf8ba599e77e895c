import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { silentLog } from '../../../../lib/log.ts'
import { StorageClasses } from '../../../../operator/observe/storage-classes.ts'
import { ApiError } from '../../../../operator/runtime/api/api-error.ts'
import { errorOf } from '../../../support/error-of.ts'
import { FakeKubernetes } from '../../../support/kubernetes/fake-kubernetes.ts'
import type { FakeKind } from '../../../support/kubernetes/fake-store.ts'

const KIND: FakeKind = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'storageclasses',
  kind: 'StorageClass',
  namespaced: false,
  hasStatus: false,
}
const MINUTE_MS = 60_000
const { signal } = new AbortController()

async function open(classes: Readonly<Record<string, unknown>>) {
  const clock = new ManualClock()
  const api = new FakeKubernetes(clock, [KIND])
  for (const [name, allowVolumeExpansion] of Object.entries(classes)) {
    const object = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name } }
    await api.create(KIND, { ...object, allowVolumeExpansion }, signal)
  }
  const warnings: unknown[] = []
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) }
  const subject = new StorageClasses({ api, clock, log })
  const reads = () => api.requests.filter(({ verb }) => verb === 'get').length
  return { api, clock, subject, warnings, reads }
}

describe('StorageClasses', () => {
  it('are expandable only if the class says so', async () => {
    const { subject } = await open({ fast: true, slow: false, odd: 'true' })

    await subject.refresh(['fast', 'slow', 'odd', 'absent'], signal)

    const names = ['fast', 'slow', 'odd', 'absent', 'unread', '', undefined]
    expect(names.filter((name) => subject.isExpandable(name))).to.deep.equal(['fast'])
  })

  it('are read once a minute, each class once, and none without a name', async () => {
    const { subject, clock, reads } = await open({ fast: true })

    await subject.refresh(['fast', 'fast', undefined, ''], signal)
    await subject.refresh(['fast'], signal)
    expect(reads()).to.equal(1)
    clock.advance(MINUTE_MS)
    await subject.refresh(['fast'], signal)

    expect(reads()).to.equal(2)
    expect(subject.isExpandable('fast')).to.equal(true)
  })

  it('are told as they have become', async () => {
    const { api, subject, clock } = await open({ fast: false })
    await subject.refresh(['fast'], signal)
    const ref = { kind: KIND, namespace: '', name: 'fast' }
    const patch = { type: 'merge', value: { allowVolumeExpansion: true } } as const
    await api.patch({ ref, patch, part: 'object' }, signal)

    clock.advance(MINUTE_MS)
    await subject.refresh(['fast'], signal)

    expect(subject.isExpandable('fast')).to.equal(true)
  })

  it('keep what another pass has read while they are read again', async () => {
    const { api, subject, clock } = await open({ fast: true })
    await subject.refresh(['fast'], signal)
    clock.advance(MINUTE_MS)
    const release = api.hold()

    const reading = subject.refresh(['fast'], signal)

    expect(subject.isExpandable('fast')).to.equal(true)
    release()
    await reading
  })

  it('are forgotten when nobody has asked for them in a long time', async () => {
    const { subject, clock } = await open({ fast: true })
    await subject.refresh(['fast'], signal)

    clock.advance(10 * MINUTE_MS)
    await subject.refresh([], signal)

    expect(subject.isExpandable('fast')).to.equal(false)
  })

  it('are not expandable where they may not be read, which is said once', async () => {
    const { api, subject, clock, warnings } = await open({ fast: true })
    for (let count = 0; count < 3; count++) {
      api.faults.add({ verbs: ['get'], times: 1, status: 403 })
      await subject.refresh(['fast'], signal)
      clock.advance(MINUTE_MS)
    }

    expect(subject.isExpandable('fast')).to.equal(false)
    expect(warnings).to.deep.equal(['StorageClasses cannot be read: no volume is expanded'])
  })

  it('reject with any other failure, and keep what they know', async () => {
    const { api, subject, clock } = await open({ fast: true })
    await subject.refresh(['fast'], signal)
    clock.advance(MINUTE_MS)
    api.faults.add({ verbs: ['get'], times: 1, status: 0 })

    const error = await errorOf(() => subject.refresh(['fast'], signal))

    expect(error).to.be.instanceOf(ApiError)
    expect(subject.isExpandable('fast')).to.equal(true)
  })
})
