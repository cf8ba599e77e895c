// What is promised of the Secrets that the operator makes, each as a check that ends or throws. Copies of the functions with
// a defect are held to the same checks.

import { expect } from 'chai'
import { inspect } from 'node:util'
import {
  AUTHORITY_RENEWED_MS,
  AUTHORITY_VALID_MS,
} from '../../../operator/certificates/etcd-certificates.ts'
import { classifyError } from '../../../operator/runtime/api/api-error.ts'
import { errorOf } from '../error-of.ts'
import { encoded, NOW_MS, SecretWorld, SMALLEST } from './secret-world.ts'
import type { SecretFunctions } from './secret-world.ts'

const SECRET = 'books-secret'
const AUTHORITY = 'books-etcd-ca'
const SHOWN = 'books-etcd-tls'

type Check = (functions: SecretFunctions) => Promise<void>

export const SECRET_PROMISES: Readonly<Record<string, Check>> = {
  'a cluster secret that is there is never replaced (SW1)': async (functions) => {
    const world = new SecretWorld(functions)
    await world.write()
    const first = await world.value(SECRET, 'cluster-secret')
    world.written = withRetention('Delete')
    await world.write()

    expect(first === (await world.value(SECRET, 'cluster-secret'))).to.equal(true)
    expect(first.length).to.equal(64)
  },

  'a cluster secret that nodes have started with is not made anew (SW1)': async (functions) => {
    for (const loss of ['books-secret', 'its key'] as const) {
      const world = new SecretWorld(functions)
      await world.write()
      world.nodes = 3
      if (loss === 'books-secret') await world.remove(SECRET)
      else await world.change(SECRET, { data: { 'cluster-secret': null } })
      world.written = withRetention('Delete')
      await world.write()
      const { problems, outdated } = await world.read()

      expect(await world.value(SECRET, 'cluster-secret')).to.equal('')
      expect(outdated).to.not.include('Secret/books-secret')
      expect(problems.map(({ reason }) => reason)).to.deep.equal([
        loss === 'books-secret' ? 'SecretNotFound' : 'KeyMissing',
      ])
    }
  },

  'authorities are written before what they sign (SW2)': async (functions) => {
    const world = new SecretWorld(functions)
    world.fake.faults.add({ verbs: ['create'], times: 1, status: 500 })
    const names = ['Secret/books-etcd-ca', 'Secret/books-etcd-tls']
    await errorOf(() => world.write(names))
    await world.write(names)

    expect(world.writes).to.deep.equal([
      `create ${AUTHORITY}`,
      `create ${AUTHORITY}`,
      `create ${SHOWN}`,
    ])
  },

  'nothing is written over a version that was not read (SW3)': async (functions) => {
    const world = new SecretWorld(functions)
    await world.write()
    world.nowMs = NOW_MS + AUTHORITY_VALID_MS - AUTHORITY_RENEWED_MS
    const view = await world.read()
    world.afterGet = async (name) => {
      if (name !== SHOWN) return
      world.afterGet = () => Promise.resolve()
      await world.change(AUTHORITY, { metadata: { annotations: { by: 'somebody' } } })
    }
    const before = await world.value(AUTHORITY, 'next.crt')
    const error = await errorOf(() => world.writeBy(view))

    expect(classifyError(error)).to.equal('conflict')
    expect(before === (await world.value(AUTHORITY, 'next.crt'))).to.equal(true)
  },

  'nothing is written over a Secret that is not the cluster’s (SW3)': async (functions) => {
    const world = new SecretWorld(functions)
    const view = await world.read()
    for (const name of [SECRET, AUTHORITY, SHOWN]) await world.put(name, { of: 'somebody' })
    const before = world.writes.length
    await world.writeBy(view)
    await world.write()

    expect(world.writes.length).to.equal(before)
  },

  'no refusal tells what would have been written, or what is there (SW4)': async (functions) => {
    for (const isThere of [false, true]) {
      const world = new SecretWorld(functions)
      if (isThere) {
        await world.put(SECRET, { 'cluster-secret': MARKER }, labelsOf('node'))
        world.written = withRetention('Delete')
      }
      const secret = isThere ? MARKER : '01'.repeat(32)
      const base64 = encoded({ secret })['secret'] ?? ''
      const message = `the object {"data":"${base64}","text":"${secret}"} is refused`
      world.fake.faults.add({ verbs: ['create', 'patch'], times: 1, status: 403, message })

      const error = await errorOf(() => world.write())

      const told = inspect(error, { depth: 9 })
      expect(classifyError(error)).to.equal('forbidden')
      expect(told.includes('is refused')).to.equal(true)
      expect([told.includes(base64), told.includes(secret)]).to.deep.equal([false, false])
    }
  },

  'what a new cluster of the name finds is what the earlier one has left': async (functions) => {
    const world = new SecretWorld(functions)
    await world.write()
    const keys = [
      [SECRET, 'cluster-secret'],
      [AUTHORITY, 'ca.key'],
    ] as const
    const before = await Promise.all(keys.map(([name, key]) => world.value(name, key)))
    world.uid = 'uid-of-next'
    // The garbage collector takes what the earlier one owned.
    await world.remove(SHOWN)
    await world.write()
    const after = await Promise.all(keys.map(([name, key]) => world.value(name, key)))

    expect(before.map((value, at) => value === after[at] && value !== '')).to.deep.equal([
      true,
      true,
    ])
    const { outdated, foreign } = await world.read()
    expect([outdated, foreign]).to.deep.equal([[], []])
  },

  'a certificate that is renewed restarts nobody': async (functions) => {
    const world = new SecretWorld(functions)
    world.written = { ...SMALLEST, nodes: { ...SMALLEST.nodes, envFrom: [{ secretRef: USED }] } }
    await world.put(USED.name, { a: 'b' })
    await world.write()
    const before = await world.read()
    const shown = await world.value(SHOWN, 'server.crt')
    world.nowMs = before.nextRenewalMs ?? 0
    await world.write()
    const after = await world.read()

    expect(shown === (await world.value(SHOWN, 'server.crt'))).to.equal(false)
    expect(after.secretHash).to.equal(before.secretHash)
    expect(after.authorityHash).to.equal(before.authorityHash)
  },

  'a lost authority stays trusted by those who run': async (functions) => {
    const world = new SecretWorld(functions)
    await world.write()
    const trusted = await world.value(SHOWN, 'ca.crt')
    const server = await world.value(SHOWN, 'server.crt')
    await world.remove(AUTHORITY)
    await world.write()
    const both = await world.value(SHOWN, 'ca.crt')

    expect(both.startsWith(trusted)).to.equal(true)
    expect(both.length > trusted.length).to.equal(true)
    expect(server === (await world.value(SHOWN, 'server.crt'))).to.equal(true)
    const { outdated } = await world.read()
    expect(outdated).to.deep.equal([])
  },
}

const USED = { name: 'used' }
export const MARKER = 'marker-7f3a91c2'

export function withRetention(whenDeleted: 'Retain' | 'Delete'): object {
  return { ...SMALLEST, persistentVolumeClaimRetentionPolicy: { whenDeleted } }
}

/** As the Secrets of an earlier cluster have them. */
export function labelsOf(component: 'node' | 'etcd'): object {
  return {
    labels: {
      'app.kubernetes.io/component': component,
      'app.kubernetes.io/instance': 'books',
      'app.kubernetes.io/managed-by': 'quarry-operator',
      'app.kubernetes.io/name': 'quarry',
      'app.kubernetes.io/part-of': 'quarry',
    },
  }
}
