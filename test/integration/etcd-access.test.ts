import { writeFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { Replaceable } from '../../lib/replaceable.ts'
import type { Coordination } from '../../node/coordination/coordination.ts'
import { openEtcdCoordination } from '../../node/coordination/etcd/open-etcd-coordination.ts'
import type {
  EtcdCredentials,
  EtcdOptions,
} from '../../node/coordination/etcd/open-etcd-coordination.ts'
import { ProtoWriter } from '../../lib/etcd/proto-writer.ts'
import { always, forever, putting, take } from '../conformance/coordination.ts'
import { errorOf } from '../support/error-of.ts'
import { EtcdCluster } from '../support/processes/etcd-cluster.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/servers/tls-certificate.ts'
import { until } from '../support/until.ts'
import { CoordinationRecorder } from '../support/worlds/coordination-recorder.ts'

const TIMING = { attemptTimeoutMs: 3000, callTimeoutMs: 15_000, watchIdleMs: 500 }

const openAt = (
  etcd: EtcdCluster,
  { tls, user, ...options }: Partial<EtcdOptions> & EtcdCredentials = {},
): Promise<Coordination> =>
  openEtcdCoordination({
    credentials: new Replaceable<EtcdCredentials>({ tls, user }),
    endpoints: etcd.endpoints,
    cluster: 'ours',
    owner: 'node-1',
    clock: systemClock,
    random: () => 0,
    timing: TIMING,
    ...options,
  })

describe('EtcdCoordination and users of etcd', () => {
  let etcd: EtcdCluster
  before(async () => {
    etcd = await EtcdCluster.start({ members: 1 })
    await askForUsers(etcd)
  })
  after(() => etcd[Symbol.asyncDispose]())

  const user = { name: 'quarry', password: 'secret' }

  it('works with the rights of its user', async () => {
    await using store = await openAt(etcd, { user })
    const outcome = await store.commit(always(putting('/a', '1')))
    const lease = await store.grantLease(5)
    await lease.revoke()

    expect(outcome).to.have.property('kind', 'committed')
    const revision = outcome.kind === 'committed' ? outcome.revision : 0
    expect(await take(store.watch('/', revision, forever()), 1)).to.deep.equal([`/a=1@${revision}`])
  })

  it('uses a user that is replaced for later calls, and so does the thread of its leases', async () => {
    const credentials = new Replaceable<EtcdCredentials>({ user })
    const wrong = { user: { ...user, password: 'wrong' } }
    await using store = await openAt(etcd, { credentials, leaseThread: true })
    const lease = await store.grantLease(5)
    credentials.replace(wrong)
    const refused = await errorOf(() => store.commit(always(putting('/replaced', '1'))))

    credentials.replace({ user })
    const outcome = await store.commit(always(putting('/replaced', '2')))

    expect(refused).to.include({ code: 'FORBIDDEN' })
    expect(outcome).to.have.property('kind', 'committed')
    expect(lease.lost.aborted).to.equal(false)
    await lease.revoke()
  })

  it('renews its token when etcd has forgotten it, for calls and for watches', async () => {
    await using store = await openAt(etcd, { user })
    const { revision } = await store.list('')
    await using recorder = new CoordinationRecorder(store, '/renewed', revision + 1)
    await store.commit(always(putting('/renewed', 'before')))
    await until(async () => recorder.values.length === 1)

    await etcd.members[0]!.kill() // its tokens are in memory
    await etcd.members[0]!.start()
    await store.commit(always(putting('/renewed', 'after')))

    await until(async () => recorder.values.length === 2)
    expect(recorder.values).to.deep.equal(['before', 'after'])
  })

  const refused: Readonly<Record<string, Partial<EtcdOptions> & EtcdCredentials>> = {
    'a wrong password': { user: { ...user, password: 'wrong' } },
    'a user that etcd does not know': { user: { ...user, name: 'nobody' } },
    'nobody at all': {},
    'another cluster than that of the user': { user, cluster: 'theirs' },
  }
  for (const [name, options] of Object.entries(refused)) {
    it(`refuses ${name}`, async () => {
      expect(await errorOf(() => openAt(etcd, options))).to.include({ code: 'FORBIDDEN' })
    })
  }
})

describe('EtcdCoordination and TLS', () => {
  const pem = { ca: Buffer.from(TEST_CERTIFICATE) }
  const own = { cert: Buffer.from(TEST_CERTIFICATE), key: Buffer.from(TEST_CERTIFICATE_KEY) }
  let etcd: EtcdCluster
  let directory = ''
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-etcd-tls-'))
    const certificate = path.join(directory, 'certificate.pem')
    const key = path.join(directory, 'key.pem')
    await writeFile(certificate, TEST_CERTIFICATE)
    await writeFile(key, TEST_CERTIFICATE_KEY)
    const files = [`--cert-file=${certificate}`, `--key-file=${key}`]
    const flags = [...files, `--trusted-ca-file=${certificate}`, '--client-cert-auth']
    etcd = await EtcdCluster.start({ members: 1, scheme: 'https', flags })
  })
  after(async () => {
    await etcd[Symbol.asyncDispose]()
    await rm(directory, { recursive: true, force: true })
  })

  it('works with a certificate that etcd trusts', async () => {
    await using store = await openAt(etcd, { tls: { ...pem, ...own } })

    expect(await store.commit(always(putting('/a')))).to.have.property('kind', 'committed')
  })

  const timing = { ...TIMING, callTimeoutMs: 800 }
  const refused: Readonly<Record<string, Partial<EtcdOptions> & EtcdCredentials>> = {
    'no certificate of its own': { tls: pem },
    'an etcd whose authority it does not know': { tls: own },
  }
  for (const [name, options] of Object.entries(refused)) {
    it(`is refused with ${name}`, async () => {
      const error = await errorOf(() => openAt(etcd, { ...options, timing }))

      expect(error).to.include({ code: 'UNAVAILABLE' })
    })
  }
})

describe('EtcdCoordination and a damaged etcd', () => {
  it('refuses an etcd that has forgotten revisions', async () => {
    await using etcd = await EtcdCluster.start({ members: 1 })
    await using store = await openAt(etcd)
    await store.commit(always(putting('/a')))

    await etcd.members[0]!.replace()
    const error = await errorOf(() => store.get('/a'))

    expect(error).to.include({ code: 'CORRUPTION' })
  })

  it('says that the disk is full when etcd takes no more, and still reads', async () => {
    const flags = ['--quota-backend-bytes=8000000']
    await using etcd = await EtcdCluster.start({ members: 1, flags })
    await using store = await openAt(etcd)
    const value = Buffer.alloc(1_000_000)
    let error: unknown
    for (let index = 0; error === undefined && index < 20; index += 1) {
      const put = { type: 'put' as const, key: '/a', value }
      error = await store.commit(always(put)).then(
        () => undefined,
        (failure: unknown) => failure,
      )
    }

    expect(error).to.include({ code: 'DISK_FULL' })
    expect(await store.get('/a')).to.have.property('key', '/a')
  })
})

/** Lets etcd ask for users: root, and one that may use the keys of the cluster `ours` alone. */
async function askForUsers(etcd: EtcdCluster): Promise<void> {
  const call = (rpc: string, body: ProtoWriter) => etcd.call(`/etcdserverpb.Auth/${rpc}`, body)
  const readAndWrite = new ProtoWriter()
    .integer(1, 2)
    .text(2, '/quarry/ours/')
    .text(3, '/quarry/ours0')
  await call('RoleAdd', new ProtoWriter().text(1, 'ours'))
  const grant = new ProtoWriter().text(1, 'ours').message(2, readAndWrite)
  await call('RoleGrantPermission', grant)
  await call('RoleAdd', new ProtoWriter().text(1, 'root'))
  for (const [name, role] of [
    ['root', 'root'],
    ['quarry', 'ours'],
  ] as const) {
    await call('UserAdd', new ProtoWriter().text(1, name).text(2, 'secret'))
    await call('UserGrantRole', new ProtoWriter().text(1, name).text(2, role))
  }
  await call('AuthEnable', new ProtoWriter())
}
