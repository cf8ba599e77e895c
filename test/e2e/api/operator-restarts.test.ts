// What makes the pods of nodes restart, and what does not, under the whole operator. Pods, volumes and stores are stubs.

import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { eventually } from '../support/eventually.ts'
import { conditionOf } from '../support/operator/scene.ts'
import { SINGLE_NODE } from '../support/store-clusters.ts'
import { useScene } from '../support/operator/use-scene.ts'

const OPTIONS = 'options'
const SECRETS = 'secrets'
const TIMES = 'times'
const MODELS = 'models'
/** The Secret whose content is read at each use. */
const KEPT = 'kept'
const CLUSTERS = [OPTIONS, SECRETS, TIMES, MODELS]
const KEY = 'password'
const VARIABLE = 'PASSWORD'
const MODEL = { name: 'acme/words' }

interface Count {
  /** How often the node of the cluster has started. */
  readonly starts: number
  /** How often people were told that pods are about to be replaced. */
  readonly rollouts: number
}

const NONE: Count = { starts: 0, rollouts: 0 }
const ONE: Count = { starts: 1, rollouts: 1 }

describe('the operator, over what makes pods restart', function () {
  this.timeout(180_000)

  const scene = useScene(import.meta.filename)

  afterEach(() => expect(scene().kubelet.broken).to.deep.equal([]))

  before('clusters are ready, each with a Secret of its own', async () => {
    await writeSecret(KEPT, { [KEY]: 'one' })
    await Promise.all(
      CLUSTERS.map(async (cluster) => {
        await writeSecret(loginOf(cluster), { [KEY]: 'one' })
        await scene().apply(cluster, specOf(cluster))
        await scene().ready(cluster)
      }),
    )
  })

  /** With this content and no other. */
  async function writeSecret(name: string, content: Readonly<Record<string, string>>) {
    const entries = Object.entries(content).map(([key, text]) => [key, btoa(text)])
    const data = Object.fromEntries(entries)
    await scene().namespace.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, data })
  }

  const removeSecret = (name: string) => scene().namespace.kubectl(['delete', 'secret', name])

  function startsOf(cluster: string): number {
    const { nodes } = scene().kubelet.cluster(cluster).store.model
    return [...nodes.values()].reduce((sum, { incarnation }) => sum + incarnation, 0)
  }

  async function countOf(cluster: string): Promise<Count> {
    const reasons = ['UpgradeStarted', 'ConfigChangeStarted', 'RestartStarted']
    const counts = await Promise.all(reasons.map((one) => scene().eventCount(cluster, one)))
    return {
      starts: startsOf(cluster),
      rollouts: counts.reduce((sum, count) => sum + count, 0),
    }
  }

  /** What has come of a change, as soon as nothing more comes of it. */
  async function comesOf(cluster: string, change: () => Promise<unknown>): Promise<Count> {
    const before = await countOf(cluster)
    await change()
    await eventually(
      `${cluster} restarts`,
      async () => startsOf(cluster),
      (starts) => starts > before.starts,
    )
    return later(cluster, before)
  }

  async function later(cluster: string, before: Count): Promise<Count> {
    await scene().ready(cluster)
    const since = await meanwhile(cluster, before)
    await scene().ready(cluster)
    return since
  }

  async function meanwhile(cluster: string, before: Count): Promise<Count> {
    await scene().looksAgain(cluster)
    const { starts, rollouts } = await countOf(cluster)
    return { starts: starts - before.starts, rollouts: rollouts - before.rollouts }
  }

  const secretsReady = async (cluster: string, reason: string) => {
    const told = await scene().becomes(cluster, `tells of ${reason}`, (status) => {
      return conditionOf(status, 'SecretsReady')?.reason === reason
    })
    return conditionOf(told, 'SecretsReady')?.message
  }

  it('restarts them once for each change of what they start with', async () => {
    const models = [MODEL, { name: 'acme/sentences' }]
    const changes: Readonly<Record<string, () => Promise<unknown>>> = {
      [OPTIONS]: () => scene().edit(OPTIONS, { config: { check_interval_ms: 2000 } }),
      [SECRETS]: () => writeSecret(loginOf(SECRETS), { [KEY]: 'two' }),
      [TIMES]: () => scene().edit(TIMES, { restartedAt: '2026-01-02T03:04:05Z' }),
      [MODELS]: () => scene().edit(MODELS, { inference: { models } }),
    }

    const counts = await Promise.all(
      CLUSTERS.map(async (cluster) => [
        cluster,
        await comesOf(cluster, must(changes[cluster], `a change of ${cluster}`)),
      ]),
    )

    const once = CLUSTERS.map((cluster) => [cluster, ONE])
    expect(counts).to.deep.equal(once)
  })

  it('restarts them once for several changes at the same time', async () => {
    const count = await comesOf(OPTIONS, () =>
      Promise.all([
        writeSecret(loginOf(OPTIONS), { [KEY]: 'two' }),
        scene().edit(OPTIONS, { config: { check_interval_ms: 3000 } }),
        scene().edit(OPTIONS, { restartedAt: '2026-01-02T03:04:05Z' }),
      ]),
    )

    expect(count).to.deep.equal(ONE)
  })

  it('leaves them alone when what they start with is the same in another form', async () => {
    const before = [await countOf(SECRETS), await countOf(MODELS)]

    await removeSecret(loginOf(SECRETS))
    await writeSecret(loginOf(SECRETS), { [KEY]: 'two', unused: 'by the pods' })
    const models = [{ ...MODEL, preload: false }, { name: 'acme/sentences' }]
    await scene().edit(MODELS, { inference: { models } })

    const [ofSecrets, ofModels] = before
    expect(await later(SECRETS, must(ofSecrets, 'a count'))).to.deep.equal(NONE)
    expect(await later(MODELS, must(ofModels, 'a count'))).to.deep.equal(NONE)
  })

  it('leaves them alone when a Secret changes that they read at each use', async () => {
    const before = await countOf(SECRETS)

    await writeSecret(KEPT, { [KEY]: 'two' })

    expect(await later(SECRETS, before)).to.deep.equal(NONE)
  })

  it('rolls no broken Secret out, tells of it, and continues when it is mended', async () => {
    const before = await countOf(TIMES)

    await writeSecret(loginOf(TIMES), { other: 'one' })
    const withoutKey = await secretsReady(TIMES, 'KeyMissing')
    expect(await meanwhile(TIMES, before)).to.deep.equal(NONE)
    await removeSecret(loginOf(TIMES))
    const withoutSecret = await secretsReady(TIMES, 'SecretNotFound')
    await scene().edit(TIMES, { config: { check_interval_ms: 2000 } })
    await secretsReady(TIMES, 'SecretNotFound')
    expect(await meanwhile(TIMES, before)).to.deep.equal(NONE)
    await scene().edit(TIMES, { config: { check_interval_ms: 1000 } })
    await writeSecret(loginOf(TIMES), { [KEY]: 'one' })
    await secretsReady(TIMES, 'AllKeysPresent')
    expect(await later(TIMES, before), 'mended as it was').to.deep.equal(NONE)

    await removeSecret(loginOf(TIMES))
    await secretsReady(TIMES, 'SecretNotFound')
    const mended = await comesOf(TIMES, () => writeSecret(loginOf(TIMES), { [KEY]: 'three' }))

    expect(withoutKey).to.include(loginOf(TIMES)).and.include(KEY)
    expect(withoutSecret).to.include(loginOf(TIMES))
    expect(mended).to.deep.equal(ONE)
  })
})

function loginOf(cluster: string): string {
  return `${cluster}-login`
}

function specOf(cluster: string) {
  const secretKeyRef = { name: loginOf(cluster), key: KEY }
  const inference =
    cluster === MODELS
      ? { enabled: true, models: [MODEL], modelVolume: { type: 'EmptyDir' } }
      : { enabled: false }
  return {
    ...SINGLE_NODE,
    nodes: { ...SINGLE_NODE.nodes, env: [{ name: VARIABLE, valueFrom: { secretKeyRef } }] },
    config: { check_interval_ms: 1000 },
    inference,
    ...(cluster === SECRETS ? { secretStoreRef: { name: KEPT } } : {}),
    updateStrategy: { minReadySeconds: 0 },
  }
}
