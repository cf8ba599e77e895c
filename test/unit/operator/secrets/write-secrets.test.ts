import { inspect } from 'node:util'
import { expect } from 'chai'
import { classifyError } from '../../../../operator/runtime/api/api-error.ts'
import { readSecrets } from '../../../../operator/secrets/read-secrets.ts'
import { writeSecrets } from '../../../../operator/secrets/write-secrets.ts'
import { errorOf } from '../../../support/error-of.ts'
import { labelsOf, MARKER, withRetention } from '../../../support/operator/secret-promises.ts'
import { encoded, SecretWorld, SMALLEST } from '../../../support/operator/secret-world.ts'

function open(): SecretWorld {
  return new SecretWorld({ readSecrets, writeSecrets })
}

describe('writing Secrets', () => {
  it('writes nothing that is not outdated', async () => {
    const world = open()
    await world.write()
    const before = world.writes.length

    await world.write()

    expect(world.writes).to.have.length(before)
  })

  it('writes those that are named', async () => {
    const world = open()

    await world.write(['Secret/books-secret', 'ConfigMap/books-config', 'Secret/films-secret'])

    expect(world.writes).to.deep.equal(['create books-secret'])
  })

  it('writes both Secrets of etcd when one of them is named', async () => {
    const world = open()

    await world.write(['Secret/books-etcd-tls'])

    expect(world.writes).to.deep.equal(['create books-etcd-ca', 'create books-etcd-tls'])
  })

  it('makes a secret of 32 random bytes, in digits that fit a line', async () => {
    const world = open()

    await world.write()

    expect(/^[0-9a-f]{64}$/.test(await world.value('books-secret', 'cluster-secret'))).to.equal(
      true,
    )
  })

  it('adds a secret that is missing, and leaves what is beside it', async () => {
    const world = open()
    await world.put('books-secret', { 'accepted-secret': 'x' }, labelsOf('node'))

    await world.write()

    expect((await world.value('books-secret', 'cluster-secret')).length).to.equal(64)
    expect(await world.value('books-secret', 'accepted-secret')).to.equal('x')
  })

  it('signs with the authority that it has written before it failed', async () => {
    const world = open()
    world.failing = ['books-etcd-tls']
    await errorOf(() => world.write())
    const authority = await world.value('books-etcd-ca', 'ca.key')
    const between = await world.read()
    world.failing = []

    await world.write()

    expect(between.outdated).to.deep.equal(['Secret/books-etcd-tls'])
    expect(authority === (await world.value('books-etcd-ca', 'ca.key'))).to.equal(true)
    expect((await world.read()).outdated).to.deep.equal([])
  })

  it('ends with a conflict when somebody else was first', async () => {
    const world = open()
    world.afterGet = async (name) => {
      if (name !== 'books-secret') return
      world.afterGet = () => Promise.resolve()
      await world.put('books-secret', { 'cluster-secret': 'theirs' }, labelsOf('node'))
    }
    const view = await readView(world)

    const error = await errorOf(() => world.writeBy(view))

    expect(classifyError(error)).to.equal('conflict')
    expect(await world.value('books-secret', 'cluster-secret')).to.equal('theirs')
  })

  it('passes on a refusal with its status, its reason and when to come again', async () => {
    const world = open()
    const fault = { status: 429, reason: 'TooManyRequests', retryAfterMs: 3000 }
    world.fake.faults.add({ verbs: ['create'], times: 1, ...fault })

    const error = await errorOf(() => world.write())

    expect(error).to.include(fault)
  })
})

/** The view before anything happens. */
async function readView(world: SecretWorld) {
  const { afterGet } = world
  world.afterGet = () => Promise.resolve()
  const view = await world.read()
  world.afterGet = afterGet
  return view
}

describe('the content of Secrets', () => {
  const USED = ['env', 'whole', 'file', 'store', 'pull', 'tls', 'login']
  const written = {
    nodes: {
      ...SMALLEST.nodes,
      env: [{ name: 'B', valueFrom: { secretKeyRef: { name: 'env', key: 'b' } } }],
      envFrom: [{ secretRef: { name: 'whole' } }],
    },
    configSecretRefs: [{ name: 'file', key: 'k', path: 'p' }],
    secretStoreRef: { name: 'store' },
    imagePullSecrets: [{ name: 'pull' }],
    etcd: {
      mode: 'External',
      endpoints: ['https://etcd.example:2379'],
      tlsSecretRef: { name: 'tls' },
      credentialsSecretRef: { name: 'login' },
    },
  }
  const marks = [MARKER, encoded({ mark: MARKER })['mark'] ?? '']

  function tells(value: unknown): boolean {
    const texts = [inspect(value, { depth: 9 }), JSON.stringify(value)]
    return texts.some((text) => marks.some((mark) => text.includes(mark.slice(0, 12))))
  }

  it('is in no problem, name or hash', async () => {
    const world = open()
    world.written = written
    for (const name of USED) await world.put(name, { [`not-${name}`]: MARKER, b: MARKER })
    await world.put('books-secret', { 'cluster-secret': MARKER }, { labels: { mine: 'x' } })

    const { etcdTls: _, ...view } = await world.read()

    expect(view.problems.length > 3 && view.foreign.length === 1).to.equal(true)
    expect(tells(view)).to.equal(false)
  })

  it('is in no failure of a read', async () => {
    const world = open()
    world.written = written
    for (const name of USED) await world.put(name, { b: MARKER })
    for (const status of [0, 403, 500]) {
      world.fake.faults.add({ verbs: ['get'], times: 1, status })

      expect(tells(await errorOf(() => world.read()))).to.equal(false)
    }
  })

  it('is in no failure of a write, whatever the server repeats', async () => {
    for (const status of [400, 403, 409, 422, 500]) {
      const world = open()
      await world.put('books-secret', { 'cluster-secret': MARKER }, labelsOf('node'))
      await world.put('books-etcd-ca', { 'ca.key': MARKER }, labelsOf('etcd'))
      world.written = withRetention('Delete')
      const message = `refused: ${marks.join(' ')}\\n${MARKER}`
      world.fake.faults.add({ verbs: ['create', 'patch'], times: 1, status, message })
      const names = status === 409 ? ['Secret/books-etcd-ca'] : ['Secret/books-secret']

      const error = await errorOf(() => world.write(names))

      expect(error instanceof Error && error.message.startsWith('refused: ')).to.equal(true)
      expect(tells(error)).to.equal(false)
    }
  })
})
