import { status as Code } from '@grpc/grpc-js'
import { expect } from 'chai'
import type { EtcdView } from '../../../../operator/machines/observed/etcd-view.ts'
import { errorOf } from '../../../support/error-of.ts'
import { alarmAnswer, listAnswer } from '../../../support/fakes/scripted-members.ts'
import {
  listed,
  MEMBER_IDS,
  peerURLOf,
  ScriptedPool,
} from '../../../support/operator/scripted-pool.ts'

/** What `look` promises. */
const LOOK_MS_MAX = 5000
const NEVER = new AbortController().signal

function seen(view: EtcdView | 'unreachable'): EtcdView {
  return view === 'unreachable' ? expect.fail('etcd is unreachable') : view
}

function healthOf(view: EtcdView): readonly boolean[] {
  return view.members.map(({ isHealthy }) => isHealthy)
}

describe('a look at an etcd', () => {
  let pool: ScriptedPool
  const look = async (): Promise<EtcdView> => seen(await pool.admin.look(NEVER))
  const slowLook = async () => {
    const beganMs = pool.clock.monotonicMs()
    const view = await pool.whileTimePasses(pool.admin.look(NEVER))
    return { view, tookMs: pool.clock.monotonicMs() - beganMs }
  }

  beforeEach(async () => {
    pool = await ScriptedPool.start()
  })
  afterEach(() => pool[Symbol.asyncDispose]())

  it('sees members that are well', async () => {
    const view = await look()

    expect(view).to.include({ readAtMs: pool.clock.nowMs(), hasQuorum: true, leader: 'a1' })
    expect(view.members.map(({ id }) => id)).to.deep.equal(['a1', 'b2', 'c3'])
    expect(view.members[1]).to.deep.equal({
      id: 'b2',
      name: 'books-etcd-1',
      isLearner: false,
      hasStarted: true,
      isHealthy: true,
      isCaughtUp: true,
      dbBytes: 900,
      dbUsedBytes: 600,
      quotaBytes: 4096,
      alarms: [],
    })
  })

  it('asks one member for what a majority agrees on: each question is an entry of the log', async () => {
    await look()

    expect(pool.members.map(({ asked }) => asked)).to.deep.equal([
      ['Maintenance/Alarm', 'Cluster/MemberList'],
      [],
      [],
    ])
  })

  it('believes the quota that version 3.6 tells', async () => {
    pool.tells(2, { quotaBytes: 9000 })

    const { members } = await look()

    expect(members.map(({ quotaBytes }) => quotaBytes)).to.deep.equal([4096, 4096, 9000])
  })

  it('sees alarms, and leaves out kinds that it does not know', async () => {
    const raised = [[MEMBER_IDS[1], 1], [MEMBER_IDS[1], 2], [MEMBER_IDS[2], 7]] as const // prettier-ignore
    pool.each('Maintenance/Alarm', alarmAnswer(raised))

    const { members } = await look()

    expect(members.map(({ alarms }) => alarms)).to.deep.equal([[], ['NoSpace', 'Corrupt'], []])
  })

  it('names a learner that has not started by its pod', async () => {
    const learner = { id: 0xd4, name: '', peerURL: peerURLOf('books-etcd-2'), isLearner: true }
    pool.members[2]?.on('Maintenance/Status', { code: Code.UNAVAILABLE, says: 'starting' })
    pool.each(
      'Cluster/MemberList',
      listAnswer([listed(0, MEMBER_IDS[0]), listed(1, MEMBER_IDS[1]), learner]),
    )

    const { members } = await look()

    expect(members[2]).to.include({ id: 'd4', name: 'books-etcd-2', isLearner: true })
    expect(members[2]).to.include({ hasStarted: false, isHealthy: false })
  })

  it('does not wait for a member that hangs longer than for its status', async () => {
    pool.members[2]?.on('Maintenance/Status', 'hangs')

    const { view, tookMs } = await slowLook()

    expect(seen(view).hasQuorum).to.equal(true)
    expect(healthOf(seen(view))).to.deep.equal([true, true, false])
    expect(tookMs).to.be.at.most(LOOK_MS_MAX / 2)
  })

  it('finds nobody within five seconds if all hang', async () => {
    pool.each('Maintenance/Status', 'hangs')

    const { view, tookMs } = await slowLook()

    expect(view).to.equal('unreachable')
    expect(tookMs).to.be.at.most(LOOK_MS_MAX)
  })

  it('finds nobody if no connection comes about', async () => {
    await Promise.all(pool.members.map((member) => member[Symbol.asyncDispose]()))

    expect(await pool.admin.look(NEVER)).to.equal('unreachable')
  })

  it('finds nobody where only a learner answers, which cannot list the others', async () => {
    for (const at of [0, 1]) {
      pool.members[at]?.on('Maintenance/Status', { code: Code.UNAVAILABLE, says: 'gone' })
    }
    pool.tells(2, { isLearner: true })

    expect(await pool.admin.look(NEVER)).to.equal('unreachable')
    expect(pool.members[2]?.asked).to.deep.equal([])
  })

  it('sees no quorum while all name a leader and no majority commits anything', async () => {
    pool.each('Maintenance/Alarm', 'hangs')

    const { view, tookMs } = await slowLook()

    // The time for a third one is not left.
    expect(pool.members.map(({ asked }) => asked.includes('Maintenance/Alarm'))).to.deep.equal([
      true,
      true,
      false,
    ])
    expect(seen(view)).to.include({ hasQuorum: false })
    expect(seen(view)).not.to.have.property('leader')
    expect(seen(view).members.map(({ name }) => name)).to.deep.equal([
      'books-etcd-0',
      'books-etcd-1',
      'books-etcd-2',
    ])
    expect(healthOf(seen(view))).to.deep.equal([false, false, false])
    expect(tookMs).to.be.at.most(LOOK_MS_MAX)
  })

  it('ends within five seconds at its worst', async () => {
    pool.members[2]?.on('Maintenance/Status', 'hangs')
    pool.each('Maintenance/Alarm', 'hangs')
    pool.each('Cluster/MemberList', 'hangs')

    const { view, tookMs } = await slowLook()

    expect(view).to.equal('unreachable')
    expect(tookMs).to.be.within(LOOK_MS_MAX - 100, LOOK_MS_MAX + 100)
  })

  it('sees no quorum where nobody knows a leader, and asks nobody to commit anything', async () => {
    for (const at of MEMBER_IDS.keys()) pool.tells(at, { leader: 0 })

    const view = await look()

    expect(view).to.include({ hasQuorum: false })
    expect(view.members).to.have.length(3)
    expect(pool.members.flatMap(({ asked }) => asked)).not.to.include('Maintenance/Alarm')
  })

  it('lists the members without a quorum as the voter knows them that has applied most', async () => {
    for (const [at] of MEMBER_IDS.entries()) pool.tells(at, { leader: 0, appliedIndex: 10 + at })
    pool.members[2]?.on('Cluster/MemberList', listAnswer([listed(2, MEMBER_IDS[2])]))

    expect((await look()).members.map(({ id }) => id)).to.deep.equal(['c3'])
  })

  it('asks a second member if the leader does not answer any more', async () => {
    const says = 'etcdserver: request timed out'
    pool.members[0]?.on('Maintenance/Alarm', { code: Code.UNAVAILABLE, says })

    const view = await look()

    expect(view).to.include({ hasQuorum: true, leader: 'a1' })
    expect(pool.members[1]?.asked).to.deep.equal(['Maintenance/Alarm', 'Cluster/MemberList'])
  })

  it('does not ask the one that was cut off and still believes that it leads', async () => {
    const after = { leader: MEMBER_IDS[1], term: 6 }
    pool.tells(1, after)
    pool.tells(2, after)

    const view = await look()

    expect(view).to.include({ hasQuorum: true, leader: 'b2' })
    expect(healthOf(view)).to.deep.equal([false, true, true])
    expect(pool.members[0]?.asked).to.deep.equal([])
  })

  it('keeps its connections, and connects anew after a call that was not answered', async () => {
    const connections = () => new Set(pool.members[0]?.arrived.map(({ from }) => from)).size
    await look()
    await look()
    expect(connections()).to.equal(1)

    pool.members[0]?.on('Maintenance/Status', 'hangs')
    await slowLook()
    pool.tells(0, {})

    expect(await look()).to.include({ hasQuorum: true, leader: 'a1' })
    expect(connections()).to.equal(2)
  })

  it('asks those first whom most follow, also before one that stands alone in a later term', async () => {
    pool.tells(2, { leader: MEMBER_IDS[2], term: 9 })

    const view = await look()

    expect(view).to.include({ hasQuorum: true, leader: 'a1' })
    expect(healthOf(view)).to.deep.equal([true, true, false])
    expect(pool.members[2]?.asked).to.deep.equal([])
  })

  it('asks the member of the later term first, of two that stand alone', async () => {
    pool.members[1]?.on('Maintenance/Status', { code: Code.UNAVAILABLE, says: 'gone' })
    pool.tells(2, { leader: MEMBER_IDS[1], term: 6 })

    const view = await look()

    expect(view).to.include({ hasQuorum: true, leader: 'b2' })
    expect(healthOf(view)).to.deep.equal([false, false, true])
  })

  it('takes an answer that is not a message for none', async () => {
    pool.members[1]?.on('Maintenance/Status', Buffer.of(0xff))
    // A whole message whose first member is none.
    pool.members[0]?.on('Cluster/MemberList', Buffer.of(0x12, 1, 0xff))

    const view = await look()

    expect(view.hasQuorum).to.equal(true)
    expect(healthOf(view)).to.deep.equal([true, false, true])
    expect(pool.members[2]?.asked).to.deep.equal(['Maintenance/Alarm', 'Cluster/MemberList'])
  })

  it('takes what etcd refuses for no answer', async () => {
    pool.each('Maintenance/Status', { code: Code.PERMISSION_DENIED, says: 'etcdserver: permission denied' }) // prettier-ignore

    expect(await pool.admin.look(NEVER)).to.equal('unreachable')
  })

  it('ends with the reason of an abort', async () => {
    pool.each('Maintenance/Status', 'hangs')
    const stop = new AbortController()
    const looking = pool.admin.look(stop.signal)
    const reason = new Error('the pass ends')

    stop.abort(reason)

    expect(await errorOf(() => looking)).to.equal(reason)
    expect(await errorOf(() => pool.admin.look(stop.signal))).to.equal(reason)
  })
})
