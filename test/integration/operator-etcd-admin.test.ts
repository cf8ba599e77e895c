// The operator's admin of an etcd, with real members and the certificates that the operator makes.

import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import { membersAt } from '../../lib/etcd/etcd-endpoints.ts'
import { EtcdFailure } from '../../lib/etcd/etcd-failure.ts'
import type { ProtoMessage } from '../../lib/etcd/proto-message.ts'
import { ProtoWriter } from '../../lib/etcd/proto-writer.ts'
import type { EtcdMember, EtcdView } from '../../operator/machines/observed/etcd-view.ts'
import { GrpcEtcdAdmin } from '../../operator/etcd/etcd-admin.ts'
import { EtcdRefusal } from '../../operator/etcd/etcd-refusal.ts'
import { errorOf } from '../support/error-of.ts'
import { inputOf } from '../support/operator/cluster-inputs.ts'
import { OperatorEtcd } from '../support/processes/operator-etcd.ts'
import { until } from '../support/until.ts'

const NEVER = new AbortController().signal
const KIB = 1024
const QUOTA_BYTES = 1024 * KIB
const VALUE = Buffer.alloc(100 * KIB, 'v')
/** From the first key on, and in a request for a range: up to the last. */
const ALL = Buffer.of(0)

async function adminOf(etcd: OperatorEtcd): Promise<GrpcEtcdAdmin> {
  const tls = await etcd.tls()
  const members = etcd.places()
  return new GrpcEtcdAdmin({ members, tls, quotaBytes: QUOTA_BYTES, clock: systemClock })
}

/** Looks until it is so: processes start, elect and hear of each other in their own time. */
async function seen(admin: GrpcEtcdAdmin, isSo: (view: EtcdView) => boolean): Promise<EtcdView> {
  let found: EtcdView | undefined
  await until(async () => {
    const view = await admin.look(NEVER)
    if (view === 'unreachable' || !isSo(view)) return false
    found = view
    return true
  })
  return must(found, 'a view')
}

/** Asks until etcd does it: it changes no members before all have been connected for five seconds. */
async function insist(change: () => Promise<void>): Promise<void> {
  await until(async () => {
    try {
      await change()
      return true
    } catch (error) {
      if (error instanceof EtcdRefusal && error.kind !== 'refused') return false
      throw error
    }
  })
}

function named(view: EtcdView, name: string): EtcdMember {
  return must(
    view.members.find((member) => member.name === name),
    name,
  )
}

function areVoters({ members }: EtcdView): boolean {
  return members.length === 3 && members.every((one) => one.isHealthy && !one.isLearner)
}

describe('the admin of an etcd with three real members', () => {
  let etcd: OperatorEtcd
  let admin: GrpcEtcdAdmin

  before(async () => {
    etcd = await OperatorEtcd.open({ input: inputOf({ nodes: { storage: { size: '1Gi' } } }) })
    await etcd.startAll()
    admin = await adminOf(etcd)
  })
  after(async () => {
    await admin[Symbol.asyncDispose]()
    await etcd[Symbol.asyncDispose]()
  })

  it('sees members that are well', async () => {
    const view = await seen(admin, areVoters)

    expect(view.hasQuorum).to.equal(true)
    expect(view.members.map(({ name }) => name)).to.have.members([
      'books-etcd-0',
      'books-etcd-1',
      'books-etcd-2',
    ])
    expect(view.members.map(({ id }) => id)).to.include(view.leader)
    for (const { id, hasStarted, isCaughtUp, dbBytes, dbUsedBytes, alarms } of view.members) {
      expect(id).to.match(/^[0-9a-f]{1,16}$/)
      expect({ hasStarted, isCaughtUp, alarms }).to.deep.equal({
        hasStarted: true,
        isCaughtUp: true,
        alarms: [],
      })
      expect(dbUsedBytes).to.be.greaterThan(0)
      expect(dbBytes).to.be.at.least(dbUsedBytes)
    }
    const ids = await etcd.control('member', 'list')
    for (const { id, name } of view.members) {
      expect(ids).to.match(new RegExp(`^${id}, .*${name}`, 'm'))
    }
  })

  it('moves the leader, and has nothing to do when it leads no more', async () => {
    const { leader: fromMemberID = '', members } = await seen(admin, areVoters)
    const { id: toMemberID } = must(
      members.find(({ id }) => id !== fromMemberID),
      'another member',
    )

    await admin.moveLeader({ fromMemberID, toMemberID }, NEVER)
    await seen(admin, ({ leader }) => leader === toMemberID)
    await admin.moveLeader({ fromMemberID, toMemberID }, NEVER)

    expect((await seen(admin, areVoters)).leader).to.equal(toMemberID)
  })

  it('goes by renewed certificates', async () => {
    admin.renew(await etcd.tls())

    expect((await seen(admin, areVoters)).hasQuorum).to.equal(true)
  })

  it('brings a member back that lost its volume: removed, added as a learner, promoted', async () => {
    const lost = named(await seen(admin, areVoters), 'books-etcd-2')
    await etcd.kill(2)
    await etcd.loseVolume(2)
    const without = await seen(admin, (view) => view.hasQuorum && !named(view, lost.name).isHealthy)
    expect(named(without, lost.name)).to.include({ id: lost.id, hasStarted: true })

    await insist(() => admin.removeMember(lost.id, NEVER))
    await admin.removeMember(lost.id, NEVER)
    expect((await seen(admin, ({ hasQuorum }) => hasQuorum)).members).to.have.length(2)

    await insist(() => admin.addMember(lost.name, NEVER))
    await insist(() => admin.addMember(lost.name, NEVER))
    const added = named(await seen(admin, ({ hasQuorum }) => hasQuorum), lost.name)
    expect(added.id).not.to.equal(lost.id)
    expect(added).to.include({ isLearner: true, hasStarted: false, isHealthy: false })
    const tooEarly = await errorOf(() => admin.promoteMember(added.id, NEVER))
    expect(tooEarly).to.be.instanceOf(EtcdRefusal).and.to.have.property('kind', 'again')

    expect(await etcd.start(2, 'existing'), etcd.log(2)).to.equal(true)
    const caughtUp = await seen(admin, (view) => named(view, lost.name).isCaughtUp)
    expect(named(caughtUp, lost.name)).to.include({ isLearner: true, isHealthy: true })

    await insist(() => admin.promoteMember(added.id, NEVER))
    await admin.promoteMember(added.id, NEVER)
    const whole = await seen(admin, areVoters)
    expect(named(whole, lost.name)).to.include({ id: added.id, hasStarted: true })
  })

  it('sees that the quorum is lost, and when it is back', async () => {
    await etcd.kill(1)
    await etcd.kill(2)

    const lost = await seen(admin, ({ hasQuorum }) => !hasQuorum)
    expect(lost).not.to.have.property('leader')
    expect(lost.members.map(({ name }) => name)).to.have.members([
      'books-etcd-0',
      'books-etcd-1',
      'books-etcd-2',
    ])
    expect(lost.members.map(({ isHealthy }) => isHealthy)).to.deep.equal([false, false, false])
    const [member] = lost.members
    const refusal = await errorOf(() => admin.removeMember(must(member, 'one').id, NEVER))
    expect(refusal).to.be.instanceOf(EtcdRefusal)

    expect(await etcd.start(1, 'existing'), etcd.log(1)).to.equal(true)
    const back = await seen(admin, ({ hasQuorum }) => hasQuorum)
    expect(named(back, 'books-etcd-2').isHealthy).to.equal(false)
  })

  it('finds nobody when all are gone', async () => {
    await Promise.all(etcd.ordinals.map((ordinal) => etcd.kill(ordinal)))

    expect(await admin.look(NEVER)).to.equal('unreachable')
  })
})

describe('the admin of an etcd whose database is full', () => {
  let etcd: OperatorEtcd
  let admin: GrpcEtcdAdmin

  /** A call of the one member, as its clients make it. */
  async function call(rpc: string, body: ProtoWriter): Promise<ProtoMessage> {
    const endpoints = etcd.places().map(({ clientURL }) => clientURL)
    const member = must(membersAt({ endpoints, tls: await etcd.tls() })[0], 'a member')
    const request = { path: `/etcdserverpb.KV/${rpc}`, body: body.finish() }
    try {
      return await member.call(request, { token: undefined }, NEVER)
    } finally {
      member.reset()
    }
  }

  function put(key: string): Promise<ProtoMessage> {
    return call('Put', new ProtoWriter().text(1, key).bytes(2, VALUE))
  }

  before(async () => {
    const input = inputOf({ nodes: { storage: { size: '1Gi' } }, etcd: { replicas: 1 } })
    etcd = await OperatorEtcd.open({ input, quotaBytes: QUOTA_BYTES })
    await etcd.startAll()
    admin = await adminOf(etcd)
  })
  after(async () => {
    await admin[Symbol.asyncDispose]()
    await etcd[Symbol.asyncDispose]()
  })

  it('sees the alarm, gives room back by defragmentation, and disarms it', async () => {
    const puts = Array.from({ length: (2 * QUOTA_BYTES) / VALUE.length }, (_, at) => `key-${at}`)
    const full = await errorOf(async () => {
      for (const key of puts) await put(key)
    })
    expect(full).to.be.instanceOf(EtcdFailure)
    const [before] = (await seen(admin, ({ hasQuorum }) => hasQuorum)).members
    expect(before?.alarms).to.deep.equal(['NoSpace'])
    expect(before).to.include({ isHealthy: true, quotaBytes: QUOTA_BYTES })
    const { id, dbBytes } = must(before, 'a member')

    const deleted = await call('DeleteRange', new ProtoWriter().bytes(1, ALL).bytes(2, ALL))
    const revision = deleted.message(1).number(3)
    await call('Compact', new ProtoWriter().integer(1, revision).integer(2, 1))
    await admin.defragment(id, NEVER)
    const roomy = await seen(admin, ({ members }) => (members[0]?.dbBytes ?? dbBytes) < dbBytes / 2)
    expect(roomy.members[0]?.alarms).to.deep.equal(['NoSpace'])

    await admin.disarmAlarm(id, NEVER)
    await admin.disarmAlarm(id, NEVER)
    expect((await seen(admin, ({ hasQuorum }) => hasQuorum)).members[0]?.alarms).to.deep.equal([])
    await put('key')
  })
})
