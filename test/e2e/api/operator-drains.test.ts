// Drains that do not come to their end by themselves, under the whole operator. Pods, volumes, stores and etcds are stubs.

import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { conditionOf } from '../support/operator/scene.ts'
import type { Status } from '../support/operator/scene.ts'
import { useScene } from '../support/operator/use-scene.ts'

/** The least that a spec may say. */
const STALL_TIMEOUT_SECONDS = 60
const BLOCKED = 'books'
const STANDING = 'plays'
const SIZE = 4

describe('the operator, over drains that do not end', function () {
  this.timeout(240_000)

  const scene = useScene(import.meta.filename)
  const store = (cluster: string) => scene().kubelet.cluster(cluster).store
  const leaving = new Map<string, string>()

  afterEach(() => expect(scene().kubelet.broken).to.deep.equal([]))

  before('two clusters are ready, whose last nodes have a replica', async () => {
    const scaleDown = { stallTimeoutSeconds: STALL_TIMEOUT_SECONDS }
    await Promise.all(
      [BLOCKED, STANDING].map(async (name) => {
        await scene().apply(name, { nodes: { replicas: SIZE }, scaleDown })
        const { members } = await scene().ready(name, SIZE)
        const last = members?.find(({ ordinal }) => ordinal === SIZE - 1)
        leaving.set(name, must(last?.nodeID, 'the last node'))
        store(name).give(must(leaving.get(name), 'the last node'))
      }),
    )
  })

  before('one of them drains a node whose counter stands still', async () => {
    store(STANDING).switches.standsStill = true
    await scene().edit(STANDING, { nodes: { replicas: SIZE - 1 } })
    await drains(STANDING, 'WaitingForDrain')
  })

  const drains = (cluster: string, reason: string): Promise<Status> =>
    scene().becomes(cluster, `drains, and is ${reason}`, (status) => {
      const { operation } = status
      const isDraining = operation?.type === 'ScaleDown' && operation.phase === 'Draining'
      return isDraining && conditionOf(status, 'Progressing')?.reason === reason
    })

  const replicas = (cluster: string): Promise<string> =>
    scene().namespace.value('statefulset', `${cluster}-node`, '{.spec.replicas}')

  it('tells once of one that is blocked, takes no pod away, and applies the rest of the spec', async () => {
    store(BLOCKED).switches.isStalled = true
    await scene().edit(BLOCKED, { nodes: { replicas: SIZE - 1 } })
    await drains(BLOCKED, 'Blocked')
    const pods = await scene().uids('Pod', BLOCKED)
    await scene().looksAgain(BLOCKED)

    await scene().edit(BLOCKED, { clientService: { annotations: { team: 'search' } } })
    const annotated = '--for=jsonpath={.metadata.annotations.team}=search'
    await scene().namespace.kubectl(['wait', annotated, `service/${BLOCKED}`, '--timeout=60s'])
    const told = await drains(BLOCKED, 'Blocked')
    await scene().looksAgain(BLOCKED)

    expect(await replicas(BLOCKED)).to.equal(`${SIZE}`)
    expect(await scene().uids('Pod', BLOCKED)).to.deep.equal(pods)
    expect(conditionOf(told, 'Degraded')).to.include({ status: 'True', reason: 'DrainBlocked' })
    expect(await scene().eventCount(BLOCKED, 'DrainBlocked')).to.equal(1)
    expect(store(BLOCKED).deeds).to.deep.equal([`drain ${leaving.get(BLOCKED)}`])
  })

  it('ends that one as soon as its data can leave, and tells of no second', async () => {
    store(BLOCKED).switches.isStalled = false
    await scene().ready(BLOCKED, SIZE - 1)

    expect(store(BLOCKED).deeds.at(-1)).to.equal(`forget ${leaving.get(BLOCKED)}`)
    expect(await scene().eventCount(BLOCKED, 'DrainBlocked')).to.equal(1)
  })

  it('calls one stalled whose counter stands still, asks on by itself, and ends it when it moves', async () => {
    const cluster = `storecluster/${STANDING}`
    const waits = (type: string, field: string) =>
      scene().namespace.kubectl([
        'wait',
        `--for=jsonpath={.status.conditions[?(@.type=="${type}")].${field}`,
        cluster,
        '--timeout=150s',
      ])
    await waits('Progressing', 'reason}=Stalled')
    const told = await drains(STANDING, 'Stalled')
    const before = await replicas(STANDING)
    // From here on nothing but the operator's own clock begins a pass.
    scene().kubelet.hurries = false
    store(STANDING).switches.standsStill = false
    await waits('Degraded', 'status}=False')
    await scene().ready(STANDING, SIZE - 1)

    expect(conditionOf(told, 'Degraded')).to.include({ status: 'True', reason: 'Stalled' })
    expect(told.operation?.lastProgressAt).to.be.a('string')
    expect(before).to.equal(`${SIZE}`)
    expect(await scene().eventCount(STANDING, 'Stalled')).to.equal(1)
    expect(store(STANDING).deeds.at(-1)).to.equal(`forget ${leaving.get(STANDING)}`)
  })
})
