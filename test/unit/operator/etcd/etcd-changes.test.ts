import { status as Code } from '@grpc/grpc-js'
import { expect } from 'chai'
import type { ProtoMessage } from '../../../../lib/etcd/proto-message.ts'
import { ProtoWriter } from '../../../../lib/etcd/proto-writer.ts'
import type { EtcdAdmin } from '../../../../operator/etcd/etcd-admin.ts'
import { EtcdRefusal } from '../../../../operator/etcd/etcd-refusal.ts'
import type { RefusalKind } from '../../../../operator/etcd/etcd-refusal.ts'
import { errorOf } from '../../../support/error-of.ts'
import type { CallName } from '../../../support/fakes/scripted-members.ts'
import { MEMBER_IDS, peerURLOf, ScriptedPool } from '../../../support/operator/scripted-pool.ts'
import { until } from '../../../support/until.ts'

const NEVER = new AbortController().signal
const [, SECOND, THIRD] = MEMBER_IDS
const CALL_MS_MAX = 10_000
const DEFRAGMENT_MS_MAX = 120_000
/** Enough of the event loop for a call to end that should not. */
const TURNS = 20

type Change = Exclude<keyof EtcdAdmin, 'look' | symbol>

interface ChangeCase {
  readonly name: CallName
  /** The member that is to be asked, by its ordinal. */
  readonly askedAt: number
  /** Fields of the request, read by their numbers in rpc.proto. */
  readonly fields: (request: ProtoMessage) => unknown
  readonly expected: unknown
  /** The answers of etcd if nothing is left to do. */
  readonly done?: readonly (readonly [code: Code, says: string])[]
  readonly run: (admin: EtcdAdmin, signal: AbortSignal) => Promise<void>
}

const CHANGES: Record<Change, ChangeCase> = {
  addMember: {
    name: 'Cluster/MemberAdd',
    askedAt: 0,
    fields: (request) => [request.texts(1), request.flag(2)],
    expected: [[peerURLOf('books-etcd-2')], true],
    done: [
      [Code.FAILED_PRECONDITION, 'etcdserver: Peer URLs already exists'],
      [Code.FAILED_PRECONDITION, 'etcdserver: member ID already exist'],
    ],
    run: (admin, signal) => admin.addMember('books-etcd-2', signal),
  },
  promoteMember: {
    name: 'Cluster/MemberPromote',
    askedAt: 0,
    fields: (request) => request.number(1),
    expected: THIRD,
    done: [[Code.FAILED_PRECONDITION, 'etcdserver: can only promote a learner member']],
    run: (admin, signal) => admin.promoteMember('c3', signal),
  },
  removeMember: {
    name: 'Cluster/MemberRemove',
    askedAt: 0,
    fields: (request) => request.number(1),
    expected: THIRD,
    done: [[Code.NOT_FOUND, 'etcdserver: member not found']],
    run: (admin, signal) => admin.removeMember('c3', signal),
  },
  moveLeader: {
    name: 'Maintenance/MoveLeader',
    askedAt: 0,
    fields: (request) => request.number(1),
    expected: SECOND,
    done: [[Code.FAILED_PRECONDITION, 'etcdserver: not leader']],
    run: (admin, signal) => admin.moveLeader({ fromMemberID: 'a1', toMemberID: 'b2' }, signal),
  },
  defragment: {
    name: 'Maintenance/Defragment',
    askedAt: 1,
    fields: () => undefined,
    expected: undefined,
    run: (admin, signal) => admin.defragment('b2', signal),
  },
  disarmAlarm: {
    name: 'Maintenance/Alarm',
    askedAt: 0,
    fields: (request) => [request.number(1), request.number(2), request.number(3)],
    // Deactivate, of this member, NOSPACE.
    expected: [2, SECOND, 1],
    run: (admin, signal) => admin.disarmAlarm('b2', signal),
  },
}

async function refusalOf(work: Promise<unknown>): Promise<EtcdRefusal> {
  const error = await errorOf(() => work)
  return error instanceof EtcdRefusal ? error : expect.fail(`no EtcdRefusal: ${String(error)}`)
}

describe('a change of an etcd', () => {
  let pool: ScriptedPool
  const run = ({ run: begin }: ChangeCase): Promise<void> => begin(pool.admin, NEVER)

  beforeEach(async () => {
    pool = await ScriptedPool.start()
  })
  afterEach(() => pool[Symbol.asyncDispose]())

  for (const [change, scenario] of Object.entries(CHANGES)) {
    const { name, askedAt, fields, expected, done } = scenario

    it(`${change} asks the right member once`, async () => {
      await run(scenario)

      const asked = pool.members.map((member) => member.asked)
      expect(asked).to.deep.equal(MEMBER_IDS.map((_, at) => (at === askedAt ? [name] : [])))
      const arrived = pool.members[askedAt]?.arrived.find((call) => call.name === name)
      expect(arrived && fields(arrived.request)).to.deep.equal(expected)
    })

    for (const [code, says] of done ?? []) {
      it(`${change} is done if etcd says: ${says}`, async () => {
        pool.each(name, { code, says })

        await run(scenario)
      })
    }

    it(`${change} says that nobody knows what became of it when its answer is lost`, async () => {
      pool.each(name, { code: Code.UNAVAILABLE, says: 'etcdserver: request timed out' })

      const refusal = await refusalOf(run(scenario))

      expect(refusal.kind).to.equal('unanswered')
      expect(refusal.message).to.include('etcdserver: request timed out')
      expect(pool.members[askedAt]?.asked).to.deep.equal([name])
    })

    it(`${change} ends when no answer comes`, async () => {
      pool.each(name, 'hangs')
      const beganMs = pool.clock.monotonicMs()

      // The clock leaps once the call has arrived: the test need not wait for two minutes in steps.
      let isSettled = false
      const refused = refusalOf(run(scenario)).finally(() => {
        isSettled = true
      })
      await until(async () => pool.members[askedAt]?.asked.length === 1)
      const limitMs = change === 'defragment' ? DEFRAGMENT_MS_MAX : CALL_MS_MAX
      pool.clock.advance(limitMs - 1)
      for (let turns = 0; turns < TURNS; turns += 1) await new Promise(setImmediate)
      expect(isSettled).to.equal(false)
      pool.clock.advance(1)

      expect((await refused).kind).to.equal('unanswered')
      expect(pool.clock.monotonicMs() - beganMs).to.equal(limitMs)
    })

    it(`${change} ends with the reason of an abort`, async () => {
      pool.each(name, 'hangs')
      const stop = new AbortController()
      const changing = scenario.run(pool.admin, stop.signal)
      await until(async () => pool.members[askedAt]?.asked.length === 1)
      const reason = new Error('the pass ends')

      stop.abort(reason)

      expect(await errorOf(() => changing)).to.equal(reason)
    })
  }

  const refusals: readonly (readonly [kind: RefusalKind, code: Code, says: string])[] = [
    ['again', Code.UNAVAILABLE, 'etcdserver: unhealthy cluster'],
    ['again', Code.FAILED_PRECONDITION, 'etcdserver: re-configuration failed due to not enough started members'], // prettier-ignore
    ['again', Code.FAILED_PRECONDITION, 'etcdserver: too many learner members in cluster'],
    ['again', Code.FAILED_PRECONDITION, 'etcdserver: can only promote a learner member which is in sync with leader'], // prettier-ignore
    ['again', Code.RESOURCE_EXHAUSTED, 'etcdserver: too many requests'],
    ['again', Code.UNAVAILABLE, 'etcdserver: no leader'],
    ['again', Code.NOT_FOUND, 'etcdserver: member not found'],
    ['unanswered', Code.UNAVAILABLE, 'etcdserver: request timed out, possibly due to previous leader failure'], // prettier-ignore
    ['unanswered', Code.UNAVAILABLE, 'etcdserver: server stopped'],
    ['unanswered', Code.UNKNOWN, 'what a later version says'],
    ['refused', Code.PERMISSION_DENIED, 'etcdserver: permission denied'],
    ['refused', Code.UNAUTHENTICATED, 'etcdserver: invalid auth token'],
    ['refused', Code.UNIMPLEMENTED, 'unknown method MemberPromote'],
    ['refused', Code.DATA_LOSS, 'etcdserver: corrupt cluster'],
  ]
  for (const [kind, code, says] of refusals) {
    it(`is refused with what etcd says, as ${kind}: ${says}`, async () => {
      pool.each('Cluster/MemberPromote', { code, says })

      const refusal = await refusalOf(pool.admin.promoteMember('c3', NEVER))

      expect(refusal.kind).to.equal(kind)
      expect(refusal.message).to.include(says)
    })
  }

  it('of leaders is refused again if the member may not lead', async () => {
    const says = 'etcdserver: bad leader transferee'
    pool.each('Maintenance/MoveLeader', { code: Code.FAILED_PRECONDITION, says })

    expect((await refusalOf(run(CHANGES.moveLeader))).kind).to.equal('again')
  })

  it('that was carried out before its answer got lost is one', async () => {
    const peers = new Set<string>()
    pool.each('Cluster/MemberAdd', (request) => {
      const [peerURL = ''] = request.texts(1)
      if (peers.has(peerURL)) {
        return { code: Code.FAILED_PRECONDITION, says: 'etcdserver: Peer URLs already exists' }
      }
      peers.add(peerURL)
      return { code: Code.UNAVAILABLE, says: 'etcdserver: request timed out' }
    })

    expect((await refusalOf(run(CHANGES.addMember))).kind).to.equal('unanswered')
    await run(CHANGES.addMember)

    expect(peers.size).to.equal(1)
  })

  it('goes to the member that leads', async () => {
    for (const at of MEMBER_IDS.keys()) pool.tells(at, { leader: SECOND })

    await run(CHANGES.removeMember)

    expect(pool.members.map(({ asked }) => asked)).to.deep.equal([[], ['Cluster/MemberRemove'], []])
  })

  it('is not asked for while the leader does not answer', async () => {
    pool.members[0]?.on('Maintenance/Status', { code: Code.UNAVAILABLE, says: 'gone' })

    for (const change of ['addMember', 'promoteMember', 'removeMember', 'disarmAlarm'] as const) {
      expect((await refusalOf(run(CHANGES[change]))).kind).to.equal('again')
    }

    expect(pool.members.flatMap(({ asked }) => asked)).to.deep.equal([])
  })

  it('of one member goes to the process that is it, not to the pod of its name', async () => {
    // The pod has lost its volume, and is another member.
    pool.tells(1, { id: 0xd4 })

    const refusal = await refusalOf(run(CHANGES.defragment))

    expect(refusal.kind).to.equal('again')
    expect(pool.members.flatMap(({ asked }) => asked)).to.deep.equal([])
    await pool.admin.defragment('d4', NEVER)
    expect(pool.members[1]?.asked).to.deep.equal(['Maintenance/Defragment'])
  })

  it('of the leader is not asked of a member that does not answer', async () => {
    pool.members[0]?.on('Maintenance/Status', { code: Code.UNAVAILABLE, says: 'gone' })

    expect((await refusalOf(run(CHANGES.moveLeader))).kind).to.equal('again')
    expect(pool.members.flatMap(({ asked }) => asked)).to.deep.equal([])
  })

  it('needs an id that a look has told', async () => {
    const error = await errorOf(() => pool.admin.removeMember('books-etcd-2', NEVER))

    expect(error).to.have.property('name', 'InvariantError')
  })

  it('comes to nothing after the end', async () => {
    await pool.admin[Symbol.asyncDispose]()

    expect((await refusalOf(run(CHANGES.removeMember))).kind).to.equal('again')
    expect(await pool.admin.look(NEVER)).to.equal('unreachable')
  })

  it('takes an answer that is not a message for none', async () => {
    pool.each('Cluster/MemberAdd', Buffer.of(0xff))

    expect((await refusalOf(run(CHANGES.addMember))).kind).to.equal('unanswered')
    pool.each('Cluster/MemberAdd', new ProtoWriter())
    await run(CHANGES.addMember)
  })
})
