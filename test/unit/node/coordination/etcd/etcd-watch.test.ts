import { credentials } from '@grpc/grpc-js'
import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { WATCH_BUFFER_MAX } from '../../../../../node/coordination/coordination.ts'
import { ClusterKeys } from '../../../../../node/coordination/etcd/cluster-keys.ts'
import { EtcdMember } from '../../../../../lib/etcd/etcd-member.ts'
import { EtcdMembers } from '../../../../../node/coordination/etcd/etcd-members.ts'
import { EtcdWatch } from '../../../../../node/coordination/etcd/etcd-watch.ts'
import { ProtoWriter } from '../../../../../lib/etcd/proto-writer.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { ScriptedEtcd } from '../../../../support/fakes/scripted-etcd.ts'
import { until } from '../../../../support/until.ts'

const TIMING = { attemptTimeoutMs: 2000, callTimeoutMs: 5000, watchIdleMs: 5000 }

/** The key as etcd has it. */
const stored = (key: string): string => `/quarry/c/e${key}`

/** A watch from revision 5 on of a scripted etcd, and what it has yielded. */
async function follow() {
  const etcd = await ScriptedEtcd.start()
  const clock = new ManualClock()
  const stop = new AbortController()
  const members = new EtcdMembers({
    members: [new EtcdMember(etcd.address, credentials.createInsecure())],
    user: undefined,
    timing: TIMING,
    clock,
    random: () => 0.5,
    closing: stop.signal,
  })
  const keys = new ClusterKeys('c')
  const options = { members, keys, clock, prefix: '/', fromRevision: 5, signal: stop.signal }
  const seen: string[] = []
  const watching = (async () => {
    for await (const event of new EtcdWatch(options).events()) {
      seen.push(event.kind === 'put' ? `${event.entry.key}@${event.entry.modRevision}` : event.kind)
    }
  })()
  return {
    etcd,
    clock,
    seen,
    watching,
    /** The next stream of the watch, which begins after a pause. */
    again: (number: number) => etcd.watch(number, () => clock.advance(20)),
    sees: (count: number) => until(async () => seen.length >= count),
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await watching.catch(() => undefined)
      await etcd[Symbol.asyncDispose]()
    },
  }
}

describe('EtcdWatch', () => {
  it('begins again where it was when a stream ends before any event (EW1)', async () => {
    await using world = await follow()
    const first = await world.etcd.watch(1)
    expect(first.startRevision).to.equal(5)
    first.created(9) // events of the revisions 5 to 9 are still to come
    first.end()

    expect(await world.again(2)).to.have.property('startRevision', 5)
  })

  it('begins again behind the last event', async () => {
    await using world = await follow()
    const first = await world.etcd.watch(1)
    first.created(9)
    first.events(7, [stored('/a'), stored('/b')])
    first.end()

    const second = await world.again(2)
    second.events(8, [stored('/c')])
    await world.sees(3)

    expect(second.startRevision).to.equal(8)
    expect(world.seen).to.deep.equal(['/a@7', '/b@7', '/c@8'])
  })

  it('yields the fragments of a revision together, or none of them (EW2)', async () => {
    await using world = await follow()
    const first = await world.etcd.watch(1)
    first.events(6, [stored('/before')])
    first.events(7, [stored('/a')], { isFragment: true })
    first.end()

    const second = await world.again(2)
    expect(second.startRevision).to.equal(7)
    second.events(7, [stored('/a')], { isFragment: true })
    second.events(7, [stored('/b')])
    await world.sees(3)

    expect(world.seen).to.deep.equal(['/before@6', '/a@7', '/b@7'])
  })

  it('believes a notification about itself, and not one about all watches', async () => {
    await using world = await follow()
    const first = await world.etcd.watch(1)
    first.created(9)
    first.progress(20, { ofAll: true })
    first.end()
    const second = await world.again(2)
    second.progress(30, { ofAll: false })
    second.end()

    expect(second.startRevision).to.equal(5)
    expect(await world.again(3)).to.have.property('startRevision', 31)
  })

  it('asks for a sign of life on an idle stream, and leaves one without it (EW3)', async () => {
    await using world = await follow()
    const first = await world.etcd.watch(1)
    first.events(7, [stored('/a')])
    await world.sees(1)
    await until(async () => {
      world.clock.advance(100)
      return first.requests.length > 1
    })
    expect(first.requests[1]?.bytes(3).length, 'a request for progress').to.equal(0)

    const second = await world.again(2)

    expect(second.startRevision).to.equal(8)
  })

  it('says that the past is gone, and ends', async () => {
    await using world = await follow()
    const first = await world.etcd.watch(1)
    first.canceled('mvcc: required revision has been compacted', 40)
    await world.watching

    expect(world.seen).to.deep.equal(['compacted'])
  })

  it('says the same when one revision has more events than it may keep', async () => {
    await using world = await follow()
    const first = await world.etcd.watch(1)
    const many = Array.from({ length: WATCH_BUFFER_MAX }, (_, index) => stored(`/${index}`))
    first.events(7, many, { isFragment: true })
    first.events(7, [stored('/more')], { isFragment: true })
    await world.watching

    expect(world.seen).to.deep.equal(['compacted'])
  })

  it('tries again when etcd ends it for another reason', async () => {
    await using world = await follow()
    const first = await world.etcd.watch(1)
    first.canceled('etcdserver: no leader')

    expect(await world.again(2)).to.have.property('startRevision', 5)
  })

  it('fails when etcd refuses it again and again', async () => {
    await using world = await follow()
    const failed = errorOf(() => world.watching)
    for (const number of [1, 2, 3]) {
      const stream = await world.again(number)
      stream.canceled('etcdserver: permission denied')
    }

    expect(await failed).to.include({ code: 'FORBIDDEN' })
  })

  it('fails when it is sent what is not a message', async () => {
    await using world = await follow()
    const failed = errorOf(() => world.watching)
    const first = await world.etcd.watch(1)
    first.send(new ProtoWriter().bytes(1, Buffer.from([0xff])))

    expect(await failed).to.include({ code: 'CORRUPTION' })
  })
})
