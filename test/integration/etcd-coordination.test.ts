import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { seededRandom } from '../../lib/random.ts'
import { Replaceable } from '../../lib/replaceable.ts'
import type { Coordination } from '../../node/coordination/coordination.ts'
import { openEtcdCoordination } from '../../node/coordination/etcd/open-etcd-coordination.ts'
import type { EtcdOptions } from '../../node/coordination/etcd/open-etcd-coordination.ts'
import { describeElections } from '../conformance/coordination-elections.ts'
import { describeLeases } from '../conformance/coordination-leases.ts'
import type { LeaseWorld } from '../conformance/coordination-leases.ts'
import { always, describeCoordination, putting } from '../conformance/coordination.ts'
import { describeLargeTables } from '../conformance/large-tables.ts'
import { describeRecoveries } from '../conformance/recoveries.ts'
import { errorOf } from '../support/error-of.ts'
import { EtcdCluster } from '../support/processes/etcd-cluster.ts'

describe('EtcdCoordination', () => {
  let etcd: EtcdCluster
  before(async () => {
    etcd = await EtcdCluster.start({ members: 1 })
  })
  after(() => etcd[Symbol.asyncDispose]())

  let clusters = 0
  const nextCluster = (): string => `cluster-${(clusters += 1)}`

  const open = (options: Partial<EtcdOptions> = {}): Promise<Coordination> =>
    openEtcdCoordination({
      endpoints: etcd.directEndpoints,
      cluster: nextCluster(),
      owner: 'node-1',
      clock: systemClock,
      random: seededRandom(1),
      ...options,
    })

  async function openWorld(options: Partial<EtcdOptions> = {}): Promise<LeaseWorld> {
    const cluster = nextCluster()
    const owner = await open({ cluster, endpoints: etcd.endpoints, ...options })
    const other = await open({ cluster, owner: 'node-2' })
    return {
      owner,
      other,
      passTime: () => undefined,
      cutOff: () => etcd.members[0]!.proxy.blackHole(),
      [Symbol.asyncDispose]: async () => {
        await Promise.all([owner.close(), other.close()])
        etcd.heal()
      },
    }
  }

  describeCoordination('etcd', open)
  describeLeases('etcd', () => openWorld())
  describeLeases('etcd, renewed by a thread', () => openWorld({ leaseThread: true }))
  describeLargeTables('etcd', open)
  describeElections('etcd', () => openWorld())
  describeRecoveries('etcd', { open, histories: 30 })

  const restores = {
    'goes back': {
      token: undefined,
      isAhead: false,
      message: /went back from revision \d+ to \d+/,
    },
    'is another one, which is ahead': {
      token: 'another',
      isAhead: true,
      message: /is the cluster [0-9a-f]+ and was [0-9a-f]+/,
    },
  }
  for (const [what, { token, isAhead, message }] of Object.entries(restores)) {
    it(`believes no etcd that ${what} under an open store`, async () => {
      const directory = await mkdtemp(path.join(tmpdir(), 'quarry-snapshot-'))
      await using stack = new AsyncDisposableStack()
      stack.defer(() => rm(directory, { recursive: true }))
      const own = stack.use(await EtcdCluster.start({ members: 1 }))
      const member = own.members[0]!
      const store = stack.use(await open({ endpoints: own.directEndpoints }))
      await store.commit(always(putting('/a', 'before')))
      const snapshot = path.join(directory, 'snapshot.db')
      await member.saveSnapshot(snapshot)
      await store.commit(always(putting('/a', 'lost')))
      const { revision } = await own.ids()

      await member.restoreSnapshot(snapshot, token)
      if (isAhead) await own.writeUntil(revision + 1)

      const read = await errorOf(() => store.get('/a'))
      const written = await errorOf(() => store.commit(always(putting('/a', 'after'))))
      for (const error of [read, written]) {
        expect(error).to.include({ code: 'CORRUPTION' })
        expect(error).to.have.property('message').that.matches(message)
      }
    })
  }

  it('keeps two clusters apart in one etcd', async () => {
    await using one = await open({ cluster: 'one' })
    await using other = await open({ cluster: 'one.more' })
    await one.commit(always(putting('/a', '1')))
    await other.commit(always(putting('/a', '2')))

    const values = await Promise.all([one, other].map(async (each) => await each.list('')))

    expect(values.map(({ entries }) => entries.map(({ value }) => value.toString()))).to.deep.equal(
      [['1'], ['2']],
    )
  })

  const refused: Readonly<Record<string, Partial<EtcdOptions>>> = {
    'no endpoint': { endpoints: [] },
    'an endpoint without a scheme': { endpoints: ['127.0.0.1:2379'] },
    'an endpoint with a path': { endpoints: ['http://127.0.0.1:2379/v3'] },
    'a name that is a path': { cluster: 'a/b' },
    'a name without letters': { cluster: '' },
    'an owner that is a path': { owner: 'a/b' },
    'a certificate without its key': {
      credentials: new Replaceable({ tls: { cert: Buffer.from('') } }),
    },
    'a certificate that is not PEM': {
      endpoints: ['https://127.0.0.1:1'],
      credentials: new Replaceable({
        tls: { ca: Buffer.from('no'), cert: Buffer.from('no'), key: Buffer.from('no') },
      }),
    },
  }
  for (const [name, options] of Object.entries(refused)) {
    it(`refuses ${name}`, async () => {
      expect(await errorOf(() => open(options))).to.include({ code: 'INVALID_ARGUMENT' })
    })
  }
})
