import { expect } from 'chai'
import {
  AUTHORITY_RENEWED_MS,
  AUTHORITY_VALID_MS,
  CERTIFICATE_RENEWED_MS,
  CERTIFICATE_VALID_MS,
} from '../../../../operator/certificates/etcd-certificates.ts'
import type { SecretProblem } from '../../../../operator/machines/observed/kubernetes-view.ts'
import { readSecrets } from '../../../../operator/secrets/read-secrets.ts'
import type { SecretsView } from '../../../../operator/secrets/secrets-view.ts'
import { writeSecrets } from '../../../../operator/secrets/write-secrets.ts'
import { labelsOf, withRetention } from '../../../support/operator/secret-promises.ts'
import { ALL, NOW_MS, SecretWorld, SMALLEST } from '../../../support/operator/secret-world.ts'

const EXTERNAL = { mode: 'External', endpoints: ['https://etcd.example:2379'] }
const CREDENTIALS = { ...EXTERNAL, credentialsSecretRef: { name: 'login' } }
const TLS = { ...EXTERNAL, tlsSecretRef: { name: 'tls' } }

function open(written: object = SMALLEST): SecretWorld {
  const world = new SecretWorld({ readSecrets, writeSecrets })
  world.written = written
  return world
}

function withNodes(nodes: object): object {
  return { nodes: { ...SMALLEST.nodes, ...nodes } }
}

/** One place of a spec that names a Secret, and which keys it must have. */
interface Place {
  readonly written: object
  readonly field: string
  readonly secret: string
  readonly keys: readonly string[]
}

const PLACES: readonly Place[] = [
  {
    written: withNodes({
      env: [
        { name: 'A', value: 'x' },
        { name: 'B', valueFrom: secretKey('used', 'b') },
      ],
    }),
    field: 'spec.nodes.env[1].valueFrom.secretKeyRef',
    secret: 'used',
    keys: ['b'],
  },
  {
    written: withNodes({ envFrom: [{ secretRef: { name: 'used' } }] }),
    field: 'spec.nodes.envFrom[0].secretRef',
    secret: 'used',
    keys: [],
  },
  {
    written: { ...SMALLEST, configSecretRefs: [{ name: 'used', key: 'k', path: 'p' }] },
    field: 'spec.configSecretRefs[0]',
    secret: 'used',
    keys: ['k'],
  },
  {
    written: { ...SMALLEST, secretStoreRef: { name: 'store' } },
    field: 'spec.secretStoreRef',
    secret: 'store',
    keys: [],
  },
  {
    written: { ...SMALLEST, imagePullSecrets: [{ name: 'a' }, { name: 'pull' }] },
    field: 'spec.imagePullSecrets[1]',
    secret: 'pull',
    keys: ['.dockerconfigjson or .dockercfg'],
  },
  {
    written: { ...SMALLEST, etcd: TLS },
    field: 'spec.etcd.tlsSecretRef',
    secret: 'tls',
    keys: ['ca.crt'],
  },
  {
    written: { ...SMALLEST, etcd: CREDENTIALS },
    field: 'spec.etcd.credentialsSecretRef',
    secret: 'login',
    keys: ['username', 'password'],
  },
]

function secretKey(name: string, key: string, more: object = {}): object {
  return { secretKeyRef: { name, key, ...more } }
}

async function problemsIn(world: SecretWorld, field: string): Promise<readonly SecretProblem[]> {
  const { problems } = await world.read()
  return problems.filter((problem) => problem.field === field)
}

describe('the Secrets that a spec names', () => {
  for (const { written, field, secret, keys } of PLACES) {
    it(`are missing at ${field}`, async () => {
      expect(await problemsIn(open(written), field)).to.deep.equal([
        { reason: 'SecretNotFound', field, message: `the Secret ${secret} does not exist` },
      ])
    })

    it(`lack keys at ${field}`, async () => {
      const world = open(written)
      await world.put(secret, { other: 'x' })

      expect(await problemsIn(world, field)).to.deep.equal(
        keys.map((key) => ({
          reason: 'KeyMissing',
          field,
          message: `the Secret ${secret} has no key ${key}`,
        })),
      )
    })

    it(`are all there at ${field}`, async () => {
      const world = open(written)
      const all = keys.map((key) => [key.split(' ')[0] ?? '', 'x'])
      await world.put(secret, Object.fromEntries(all))

      expect(await problemsIn(world, field)).to.deep.equal([])
    })
  }

  it('may be missing where the spec says so', async () => {
    const optional = { optional: true }
    const world = open(
      withNodes({
        env: [{ name: 'B', valueFrom: secretKey('used', 'b', optional) }],
        envFrom: [{ secretRef: { name: 'used', ...optional } }],
      }),
    )

    expect((await world.read()).problems).to.deep.equal([])
    await world.put('used', { other: 'x' })
    expect((await world.read()).problems).to.deep.equal([])
  })

  it('are none of a spec that names none', async () => {
    expect((await open().read()).problems).to.deep.equal([])
  })

  it('have a certificate for clients only as a pair', async () => {
    const world = open({ ...SMALLEST, etcd: TLS })
    const facts = async (values: Record<string, string>) => {
      await world.put('tls', { 'ca.crt': 'x', ...values })
      const { hasEtcdCertificate, problems } = await world.read()
      return [hasEtcdCertificate, problems.map(({ message }) => message)]
    }

    expect(await facts({})).to.deep.equal([false, []])
    expect(await facts({ 'tls.crt': 'x', 'tls.key': 'x' })).to.deep.equal([true, []])
    expect(await facts({ 'tls.crt': 'x' })).to.deep.equal([
      false,
      ['the Secret tls has no key tls.key'],
    ])
    expect(await facts({ 'tls.key': 'x' })).to.deep.equal([
      false,
      ['the Secret tls has no key tls.crt'],
    ])
  })
})

describe('the hash of Secrets', () => {
  const everything = {
    ...withNodes({
      env: [{ name: 'B', valueFrom: secretKey('env', 'b', { optional: true }) }],
      envFrom: [{ secretRef: { name: 'whole', optional: true } }],
    }),
    configSecretRefs: [{ name: 'file', key: 'k', path: 'p' }],
    secretStoreRef: { name: 'store' },
    imagePullSecrets: [{ name: 'pull' }],
    etcd: { ...TLS, ...CREDENTIALS },
  }
  const values: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    env: { b: '1', other: '1' },
    whole: { x: '1' },
    file: { k: '1', other: '1' },
    store: { s: '1' },
    pull: { '.dockerconfigjson': '1' },
    tls: { 'ca.crt': '1' },
    login: { username: '1', password: '1' },
  }

  async function full(): Promise<SecretWorld> {
    const world = open(everything)
    for (const [name, data] of Object.entries(values)) await world.put(name, data)
    await world.put('books-secret', { 'cluster-secret': '1' }, labelsOf('node'))
    return world
  }

  let first = ''
  before(async () => {
    first = (await (await full()).read()).secretHash
  })

  async function isChangedBy(change: (world: SecretWorld) => Promise<void>): Promise<boolean> {
    const world = await full()
    await change(world)
    return (await world.read()).secretHash !== first
  }

  const restarts: Readonly<Record<string, (world: SecretWorld) => Promise<void>>> = {
    'a variable': (world) => world.put('env', { b: '2', other: '1' }),
    'a variable that is gone': (world) => world.put('env', { other: '1' }),
    'a variable that is empty': (world) => world.put('env', { b: '', other: '1' }),
    'one of all variables': (world) => world.put('whole', { x: '2' }),
    'one variable more': (world) => world.put('whole', { x: '1', y: '1' }),
    'all variables gone': (world) => world.remove('whole'),
    'a file': (world) => world.put('file', { k: '2', other: '1' }),
    'the user of etcd': (world) => world.put('login', { username: '2', password: '1' }),
  }
  for (const [what, change] of Object.entries(restarts)) {
    it(`changes with ${what}`, async () => {
      expect(await isChangedBy(change)).to.equal(true)
    })
  }

  const reloads: Readonly<Record<string, (world: SecretWorld) => Promise<void>>> = {
    'another key of a Secret with a variable': (world) => world.put('env', { b: '1', other: '2' }),
    'another key of a Secret with a file': (world) => world.put('file', { k: '1', other: '2' }),
    'the password of etcd': (world) => world.put('login', { username: '1', password: '2' }),
    'a certificate': (world) => world.put('tls', { 'ca.crt': '2', 'tls.crt': '2', 'tls.key': '2' }),
    'a secret that is read at each use': (world) => world.put('store', { s: '2' }),
    'a Secret for images': (world) => world.put('pull', { '.dockerconfigjson': '2' }),
    'the cluster secret': (world) => world.put('books-secret', { 'cluster-secret': '2' }),
    'an annotation': (world) => world.change('env', { metadata: { annotations: { a: 'b' } } }),
  }
  for (const [what, change] of Object.entries(reloads)) {
    it(`stays with ${what}`, async () => {
      expect(await isChangedBy(change)).to.equal(false)
    })
  }

  it('is none without Secrets that are read at the start', async () => {
    expect((await open().read()).secretHash).to.equal('none')
  })

  it('differs between clusters, so that equal values are not seen to be equal', async () => {
    const world = await full()
    const { secretHash } = await world.read()
    world.uid = 'another'

    expect((await world.read()).secretHash).to.not.equal(secretHash)
  })
})

describe('the Secrets of a cluster', () => {
  it('are all outdated at first, and none when they are made', async () => {
    const world = open()
    const before = await world.read()
    await world.write()
    const after = await world.read()

    expect(due(before)).to.deep.equal([ALL, []])
    expect(before).to.deep.include({ etcdTls: undefined, nextRenewalMs: NOW_MS })
    expect(due(after)).to.deep.equal([[], []])
    expect(after.etcdTls?.ca.includes('-----BEGIN CERTIFICATE-----')).to.equal(true)
    expect(after.nextRenewalMs).to.equal(NOW_MS + CERTIFICATE_VALID_MS - CERTIFICATE_RENEWED_MS)
    expect(after.authorityHash).to.not.equal(before.authorityHash)
  })

  it('are the cluster secret alone with an external etcd, and none of a node that is alone', async () => {
    const external = await open({ ...SMALLEST, etcd: EXTERNAL }).read()
    const alone = await open({ mode: 'SingleNode', ...withNodes({ replicas: 1 }) }).read()

    expect(due(external)).to.deep.equal([['Secret/books-secret'], []])
    expect(due(alone)).to.deep.equal([[], []])
    expect(external).to.not.have.property('nextRenewalMs')
  })

  const damages: Readonly<
    Record<
      string,
      {
        readonly change: (world: SecretWorld) => Promise<void>
        readonly outdated: readonly string[]
      }
    >
  > = {
    'a cluster secret without its key': {
      change: (world) => world.change('books-secret', { data: { 'cluster-secret': null } }),
      outdated: ['Secret/books-secret'],
    },
    'an empty cluster secret': {
      change: (world) => world.change('books-secret', { data: { 'cluster-secret': '' } }),
      outdated: ['Secret/books-secret'],
    },
    'a certificate without its key': {
      change: (world) => world.change('books-etcd-tls', { data: { 'peer.key': null } }),
      outdated: ['Secret/books-etcd-tls'],
    },
    'a certificate that is none': {
      change: (world) => world.change('books-etcd-tls', { data: { 'server.crt': 'eHg=' } }),
      outdated: ['Secret/books-etcd-tls'],
    },
    'authorities that are not trusted': {
      change: (world) => world.change('books-etcd-tls', { data: { 'ca.crt': null } }),
      outdated: ['Secret/books-etcd-tls'],
    },
    'an authority without its key': {
      change: (world) => world.change('books-etcd-ca', { data: { 'ca.key': 'eHg=' } }),
      outdated: ['Secret/books-etcd-ca', 'Secret/books-etcd-tls'],
    },
    'no authority': {
      change: (world) => world.remove('books-etcd-ca'),
      outdated: ['Secret/books-etcd-ca', 'Secret/books-etcd-tls'],
    },
    'a label that is gone': {
      change: (world) =>
        world.change('books-etcd-tls', {
          metadata: { labels: { 'app.kubernetes.io/part-of': null } },
        }),
      outdated: ['Secret/books-etcd-tls'],
    },
  }
  for (const [damage, { change, outdated }] of Object.entries(damages)) {
    it(`are outdated, and mended, with ${damage}`, async () => {
      const world = open()
      await world.write()
      await change(world)
      const before = await world.read()
      await world.write()

      expect(due(before)).to.deep.equal([outdated, []])
      expect(due(await world.read())).to.deep.equal([[], []])
    })
  }

  it('are outdated when certificates are due, and then when authorities are', async () => {
    const world = open()
    await world.write()
    const { nextRenewalMs = 0, authorityHash } = await world.read()
    world.nowMs = nextRenewalMs - 1
    const early = await world.read()
    world.nowMs = nextRenewalMs
    const late = await world.read()
    world.nowMs = NOW_MS + AUTHORITY_VALID_MS - AUTHORITY_RENEWED_MS
    const later = await world.read()
    await world.write()
    const renewed = await world.read()

    expect(due(early)).to.deep.equal([[], []])
    expect(due(late)).to.deep.equal([['Secret/books-etcd-tls'], []])
    expect(late.nextRenewalMs).to.equal(nextRenewalMs)
    expect(due(later)).to.deep.equal([['Secret/books-etcd-ca', 'Secret/books-etcd-tls'], []])
    expect(due(renewed)).to.deep.equal([[], []])
    expect(later.authorityHash).to.equal(authorityHash)
    expect(renewed.authorityHash).to.not.equal(authorityHash)
  })

  it('are owned by the cluster only if its volumes go with it', async () => {
    const world = open()
    await world.write()
    const retained = await owners(world)
    world.written = withRetention('Delete')
    const before = await world.read()
    await world.write()
    const deleted = await owners(world)
    world.written = withRetention('Retain')
    await world.write()

    expect(retained).to.deep.equal([[], [], [world.uid]])
    expect(due(before)).to.deep.equal([['Secret/books-secret', 'Secret/books-etcd-ca'], []])
    expect(deleted).to.deep.equal([[world.uid], [world.uid], [world.uid]])
    expect(await owners(world)).to.deep.equal(retained)
    expect(due(await world.read())).to.deep.equal([[], []])
  })

  it('keep the references of others who own nothing', async () => {
    const world = open()
    await world.write()
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'notes', uid: 'notes-1' }
    await world.change('books-secret', { metadata: { ownerReferences: [other] } })
    world.written = withRetention('Delete')
    await world.write()

    const live = await world.live('books-secret')
    expect(live?.metadata.ownerReferences?.map(({ uid }) => uid)).to.deep.equal([
      'notes-1',
      world.uid,
    ])
  })

  const strangers: Readonly<Record<string, object>> = {
    'no labels': {},
    'the labels of another cluster': {
      labels: { 'app.kubernetes.io/instance': 'films', 'app.kubernetes.io/name': 'quarry' },
    },
    'another owner': {
      ...labelsOf('node'),
      ownerReferences: [
        {
          apiVersion: 'quarry.dev/v1alpha1',
          kind: 'StoreCluster',
          name: 'books',
          uid: 'earlier',
          controller: true,
        },
      ],
    },
    'an end that has begun': {
      ...labelsOf('node'),
      finalizers: ['x/y'],
      deletionTimestamp: '2026-11-27T00:00:00Z',
    },
  }
  for (const [what, metadata] of Object.entries(strangers)) {
    it(`are another's with ${what}`, async () => {
      const world = open()
      await world.put('books-secret', { 'cluster-secret': 'x' }, metadata)

      expect(due(await world.read())).to.deep.equal([
        ['Secret/books-etcd-ca', 'Secret/books-etcd-tls'],
        ['Secret/books-secret'],
      ])
    })
  }

  it('are those that an earlier cluster has left', async () => {
    const world = open()
    await world.put('books-secret', { 'cluster-secret': 'x' }, labelsOf('node'))

    const { outdated, foreign } = await world.read()

    expect(outdated).to.not.include('Secret/books-secret')
    expect(foreign).to.deep.equal([])
  })
})

function due({ outdated, foreign }: SecretsView): readonly (readonly string[])[] {
  return [outdated, foreign]
}

async function owners(world: SecretWorld): Promise<string[][]> {
  const live = await Promise.all(
    ['books-secret', 'books-etcd-ca', 'books-etcd-tls'].map((name) => world.live(name)),
  )
  return live.map((one) => one?.metadata.ownerReferences?.map(({ uid }) => uid) ?? [])
}
