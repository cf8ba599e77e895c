import { expect } from 'chai'
import type { ListedMember, MemberStatus } from '../../../../operator/etcd/admin-calls.ts'
import { etcdViewOf } from '../../../../operator/etcd/etcd-view.ts'
import type { EtcdAnswers } from '../../../../operator/etcd/etcd-view.ts'

const LEADER: MemberStatus = {
  id: 'a',
  leader: 'a',
  term: 7,
  committedIndex: 10_000,
  appliedIndex: 10_000,
  isLearner: false,
  dbBytes: 900,
  dbUsedBytes: 600,
  quotaBytes: undefined,
}

function listedAs(id: string, changed: Partial<ListedMember> = {}): ListedMember {
  const peerURLs = [`https://${id}:2380`]
  return { id, name: `pod-${id}`, peerURLs, clientURLs: ['u'], isLearner: false, ...changed }
}

function viewOf(changed: Partial<EtcdAnswers>) {
  return etcdViewOf({
    readAtMs: 5,
    statuses: [LEADER],
    members: [listedAs('a')],
    agreed: { leader: 'a', term: 7, alarms: [] },
    podByPeerURL: new Map([['https://b:2380', 'pod-of-b']]),
    quotaBytes: 4096,
    ...changed,
  })
}

describe('the view of an etcd', () => {
  it('has what each member tells, and its quota from the command line if it does not tell it', () => {
    expect(viewOf({})).to.deep.equal({
      readAtMs: 5,
      hasQuorum: true,
      leader: 'a',
      members: [
        {
          id: 'a',
          name: 'pod-a',
          isLearner: false,
          hasStarted: true,
          isHealthy: true,
          isCaughtUp: true,
          dbBytes: 900,
          dbUsedBytes: 600,
          quotaBytes: 4096,
          alarms: [],
        },
      ],
    })
    expect(viewOf({ statuses: [{ ...LEADER, quotaBytes: 8192 }] }).members[0]?.quotaBytes).to.equal(
      8192,
    )
  })

  it('lists a member that does not answer', () => {
    const [, silent] = viewOf({ members: [listedAs('a'), listedAs('b')] }).members

    expect(silent).to.include({ id: 'b', isHealthy: false, isCaughtUp: false, dbBytes: 0 })
    expect(silent).to.include({ hasStarted: true, quotaBytes: 4096 })
  })

  it('leaves out a member that was removed and still answers', () => {
    const statuses = [LEADER, { ...LEADER, id: 'z' }]

    expect(viewOf({ statuses }).members.map(({ id }) => id)).to.deep.equal(['a'])
  })

  it('names a member that was added and has not started by the pod of its peer URL', () => {
    const added = { name: '', clientURLs: [], isLearner: true }
    const [known, unknown] = viewOf({
      members: [listedAs('b', added), listedAs('c', added)],
    }).members

    expect(known).to.include({ name: 'pod-of-b', hasStarted: false, isLearner: true })
    expect(unknown).to.include({ name: 'https://c:2380', hasStarted: false })
  })

  it('takes no member of a new cluster for started because of its name', () => {
    const [member] = viewOf({ members: [listedAs('b', { clientURLs: [] })] }).members

    expect(member).to.include({ name: 'pod-b', hasStarted: false })
  })

  const follower = { ...LEADER, id: 'b' }
  const unwell: Readonly<Record<string, MemberStatus>> = {
    'knows no leader': { ...follower, leader: undefined },
    'follows another one': { ...follower, leader: 'b' },
    'names the leader of an earlier term': { ...follower, term: 6 },
  }
  for (const [why, status] of Object.entries(unwell)) {
    it(`has a member for not healthy and not caught up that ${why}`, () => {
      const members = [listedAs('a'), listedAs('b')]
      const [leader, member] = viewOf({ members, statuses: [LEADER, status] }).members

      expect(leader).to.include({ isHealthy: true, isCaughtUp: true })
      expect(member).to.include({ isHealthy: false, isCaughtUp: false })
    })
  }

  it('has nobody for healthy while no majority agrees', () => {
    const view = viewOf({ agreed: undefined })

    expect(view).to.include({ hasQuorum: false })
    expect(view).not.to.have.property('leader')
    expect(view.members[0]).to.include({ isHealthy: false, isCaughtUp: false, dbBytes: 900 })
  })

  it('has each alarm with the member that raised it', () => {
    const alarms = [
      { memberID: 'b', alarm: 'NoSpace' },
      { memberID: 'b', alarm: 'Corrupt' },
    ] as const
    const view = viewOf({
      members: [listedAs('a'), listedAs('b')],
      agreed: { leader: 'a', term: 7, alarms },
    })

    expect(view.members.map((member) => member.alarms)).to.deep.equal([[], ['NoSpace', 'Corrupt']])
  })

  // Etcd promotes from nine tenths of the leader's log on; a long log may be a thousand entries ahead.
  const learners = [
    { committedIndex: 100, appliedIndex: 89, isCaughtUp: false },
    { committedIndex: 100, appliedIndex: 90, isCaughtUp: true },
    { committedIndex: 100_000, appliedIndex: 98_999, isCaughtUp: false },
    { committedIndex: 100_000, appliedIndex: 99_000, isCaughtUp: true },
    { committedIndex: 100_000, appliedIndex: 100_003, isCaughtUp: true },
  ]
  for (const { committedIndex, appliedIndex, isCaughtUp } of learners) {
    it(`a learner at ${appliedIndex} of ${committedIndex} ${isCaughtUp ? 'may' : 'may not'} vote`, () => {
      const leader = { ...LEADER, committedIndex, appliedIndex: committedIndex }
      const learner = { ...follower, committedIndex: appliedIndex, appliedIndex, isLearner: true }
      const members = [listedAs('a'), listedAs('b', { isLearner: true })]

      const view = viewOf({ members, statuses: [leader, learner] })

      expect(view.members[1]).to.include({ isLearner: true, isHealthy: true, isCaughtUp })
    })
  }
})
