// The Secrets that the operator makes, against a real API server: what it refuses, and what a patch leaves.

import { randomBytes } from 'node:crypto'
import { KubeConfig } from '@kubernetes/client-node'
import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { systemClock } from '../../../lib/clock.ts'
import { systemKeys } from '../../../operator/certificates/system-keys.ts'
import type { ClusterInput } from '../../../operator/resources/parts/cluster-input.ts'
import { classifyError } from '../../../operator/runtime/api/api-error.ts'
import type { StoredObject } from '../../../operator/runtime/api/api-object.ts'
import type { KubernetesApi } from '../../../operator/runtime/api/kubernetes-api.ts'
import { KubernetesClient } from '../../../operator/runtime/client/kubernetes-client.ts'
import { readSecrets } from '../../../operator/secrets/read-secrets.ts'
import { secretRef } from '../../../operator/secrets/secret-content.ts'
import { writeSecrets } from '../../../operator/secrets/write-secrets.ts'
import { errorOf } from '../../support/error-of.ts'
import { inputOf } from '../../support/operator/cluster-inputs.ts'
import { withRetention } from '../../support/operator/secret-promises.ts'
import { ALL, SMALLEST } from '../../support/operator/secret-world.ts'
import { applyKinds, manifest } from '../support/store-clusters.ts'
import { useNamespace } from '../support/test-namespace.ts'

const { signal } = new AbortController()

describe('the Secrets that the operator makes, in Kubernetes', () => {
  const namespace = useNamespace('api', import.meta.filename)
  let client: KubernetesClient | undefined
  let uid = ''
  const api = () => must(client, 'client')

  before(async () => {
    const config = new KubeConfig()
    config.loadFromFile(namespace().tier.kubeconfig)
    client = new KubernetesClient(config, systemClock)
    await applyKinds(namespace())
    await namespace().apply(manifest({}))
    uid = await namespace().value('storecluster', 'books', '{.metadata.uid}')
  })

  after(() => client?.[Symbol.asyncDispose]())

  function inputFor(written: object): ClusterInput {
    const made = inputOf(written, { namespace: namespace().name })
    return { ...made, cluster: { ...made.cluster, uid } }
  }

  async function write(written: object, through: KubernetesApi = api()): Promise<void> {
    const input = inputFor(written)
    const nowMs = systemClock.nowMs()
    const view = await readSecrets(api(), input.cluster, nowMs, signal)
    const keys = systemKeys
    await writeSecrets(
      through,
      { input, view, names: ALL, nowMs, keys, random: randomBytes },
      signal,
    )
  }

  async function live(name: string): Promise<StoredObject> {
    return must(await api().get(secretRef(namespace().name, name), signal), name)
  }

  async function versions(): Promise<string[]> {
    const all = await Promise.all(ALL.map((one) => live(one.split('/')[1] ?? '')))
    return all.map(({ metadata }) => metadata.resourceVersion)
  }

  it('are made once', async () => {
    await write(SMALLEST)
    const view = await readSecrets(api(), inputFor(SMALLEST).cluster, systemClock.nowMs(), signal)
    const before = await versions()
    await write(SMALLEST)

    expect(view.outdated).to.deep.equal([])
    expect(view.foreign).to.deep.equal([])
    expect(await versions()).to.deep.equal(before)
  })

  it('get an owner, and lose it again, with the content that they have', async () => {
    const before = await live('books-secret')
    await write(withRetention('Delete'))
    const owned = await live('books-secret')
    await write(withRetention('Retain'))
    const kept = await live('books-secret')

    expect(owned.metadata.ownerReferences?.map((owner) => owner.uid)).to.deep.equal([uid])
    expect(kept.metadata.ownerReferences ?? []).to.deep.equal([])
    expect(content(owned) === content(before)).to.equal(true)
    expect(content(kept) === content(before)).to.equal(true)
  })

  it('are not written over a version that was not read', async () => {
    const racing = await raced('books-secret')
    const error = await errorOf(() => write(withRetention('Delete'), racing))

    expect(classifyError(error)).to.equal('conflict')
    expect((await live('books-secret')).metadata.ownerReferences ?? []).to.deep.equal([])
  })

  /** After a read of this Secret somebody annotates it. */
  async function raced(name: string): Promise<KubernetesApi> {
    const through = api()
    return {
      list: refuse,
      watch: (...args) => through.watch(...args),
      create: (...args) => through.create(...args),
      replace: refuse,
      apply: refuse,
      patch: (...args) => through.patch(...args),
      delete: refuse,
      get: async (ref, ...rest) => {
        const found = await through.get(ref, ...rest)
        if (ref.name === name) {
          await namespace().kubectl(['annotate', 'secret', name, `at=${systemClock.nowMs()}`])
        }
        return found
      },
    }
  }
})

function content(secret: StoredObject): string {
  return JSON.stringify(secret['data'])
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('not expected'))
}
