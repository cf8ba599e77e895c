import { V1MicroTime } from '@kubernetes/client-node'
import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { seededRandom } from '../../../../../lib/random.ts'
import { NotLeadingError } from '../../../../../operator/runtime/api/api-error.ts'
import { gatedApi } from '../../../../../operator/runtime/election/gated-api.ts'
import {
  LEASE_MS,
  LeaderElection,
  RENEW_WITHIN_MS,
} from '../../../../../operator/runtime/election/leader-election.ts'
import { leaseRecordOf, microTime } from '../../../../../operator/runtime/election/lease-record.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { FakeKubernetes } from '../../../../support/kubernetes/fake-kubernetes.ts'
import { ALL_KINDS, CONFIG_MAPS, LEASES } from '../../../../support/kubernetes/known-kinds.ts'
import { wrongOfElection } from '../../../../support/operator/election-schedule.ts'
import { pass, settle } from '../../../../support/operator/settle.ts'
import { parseTestSettings } from '../../../../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const SCHEDULES = 15
const LEASE = { kind: LEASES, namespace: 'test', name: 'operator' }
const { signal } = new AbortController()

describe('LeaderElection', () => {
  it(`holds LE1 to LE7 in random schedules (QUARRY_TEST_SEED=${seed})`, async () => {
    const wrong: (string | undefined)[] = []
    for (let at = 0; at < SCHEDULES; at++) wrong.push(await wrongOfElection(seed + at))

    expect(wrong.filter((what) => what !== undefined)).to.deep.equal([])
  })

  it('leads at once if nobody does, and renews in the form that the API takes', async () => {
    const { api, clock, candidate } = open()
    const election = candidate('one')
    await settle()
    await pass(clock, 5000)
    const lease = await api.get(LEASE, signal)

    expect(election.isLeading()).to.equal(true)
    expect(leaseRecordOf(lease!)).to.include({ holder: 'one', durationSeconds: 15, transitions: 0 })
    expect(leaseRecordOf(lease!).renewTime).to.match(/T\d\d:\d\d:\d\d\.\d{6}Z$/)
    await election.release()
  })

  it('hands over within a retry when the leader releases (LE7)', async () => {
    const { api, clock, candidate } = open()
    const first = candidate('one')
    await settle()
    const second = candidate('two')
    await pass(clock, 5000)
    const before = second.state

    await first.release()
    await pass(clock, 3000)

    expect([before, first.state, second.state]).to.deep.equal(['following', 'released', 'leading'])
    expect(leaseRecordOf((await api.get(LEASE, signal))!)).to.include({ transitions: 1 })
    await second.release()
  })

  it('follows for the whole duration of a lease, whatever its times say (LE3)', async () => {
    const { clock, candidate, api } = open()
    const spec = {
      holderIdentity: 'dead',
      leaseDurationSeconds: 15,
      leaseTransitions: 3,
      renewTime: '1970-01-01T00:00:00.000000Z',
    }
    const metadata = { name: 'operator', namespace: 'test' }
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }
    await api.create(LEASES, lease, signal)
    const election = candidate('one')
    await settle()

    await pass(clock, LEASE_MS - 1000)
    const before = election.state
    await pass(clock, 4000)

    expect([before, election.state]).to.deep.equal(['following', 'leading'])
    await election.release()
  })

  it('says once that it has lost, and lets no write pass (LE5)', async () => {
    const { api, clock, candidate } = open()
    const election = candidate('one')
    const gated = gatedApi(api, election)
    const object = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'test' },
    }
    await settle()
    await gated.create(CONFIG_MAPS, object, signal)
    const release = api.hold()

    await pass(clock, RENEW_WITHIN_MS)
    release()
    await pass(clock, 60_000)

    expect(await election.lost).to.equal('the lease was not renewed')
    expect(election.isLeading()).to.equal(false)
    const writes = ['create', 'replace', 'apply', 'patch', 'delete'] as const
    for (const write of writes) {
      const error = await errorOf(() => Reflect.apply(gated[write], gated, [{}, {}, signal]))
      expect(error).to.be.instanceOf(NotLeadingError)
    }
    expect(await gated.get({ ...LEASE, kind: CONFIG_MAPS, name: 'a' }, signal)).to.be.an('object')
  })

  it('does not write after the machine slept past the lease (LE6)', async () => {
    const { clock, candidate } = open()
    const election = candidate('one')
    await settle()

    clock.suspend(LEASE_MS)

    expect(election.isLeading()).to.equal(false)
    expect(await election.lost).to.equal('the lease was not renewed')
  })

  it('ends when another process has taken its lease', async () => {
    const { api, clock, candidate } = open()
    const election = candidate('one')
    await settle()
    const lease = await api.get(LEASE, signal)
    await api.replace(LEASES, { ...lease!, spec: { holderIdentity: 'thief' } }, signal)

    await pass(clock, 3000)

    expect(await election.lost).to.equal('another process has taken the lease')
  })
})

describe('microTime', () => {
  it('is the form of the library', () => {
    const ms = 1_700_000_000_123

    expect(microTime(ms)).to.equal(new V1MicroTime(ms).toISOString())
  })
})

function open() {
  const clock = new ManualClock()
  const api = new FakeKubernetes(clock, ALL_KINDS)
  const candidate = (identity: string): LeaderElection => {
    const random = seededRandom(1)
    const election = new LeaderElection({
      api,
      clock,
      random,
      log: silentLog,
      lease: LEASE,
      identity,
    })
    election.start()
    return election
  }
  return { clock, api, candidate }
}
