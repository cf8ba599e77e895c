import { expect } from 'chai'
import { decide } from '../../../../../operator/machines/decide.ts'
import type { Observed } from '../../../../../operator/machines/observed/observed.ts'
import type { PodView } from '../../../../../operator/machines/observed/kubernetes-view.ts'
import { memoryOf } from '../../../../../operator/machines/pass/memory.ts'
import { wantedOf } from '../../../../../operator/machines/pass/wanted.ts'
import { inferenceReady } from '../../../../../operator/machines/status/parts-ready.ts'
import { settle } from '../../../../support/operator/operator-run.ts'
import { World } from '../../../../support/operator/world.ts'

type Inference = NonNullable<PodView['inference']>

const FRESH = { cluster: 0, nodes: 0, etcd: 0 }
const READY: Inference = { state: 'Ready' }
const SILENT: Inference = { state: 'Silent' }
const LOADING: Inference = { state: 'Loading' }
const CRASHING: Inference = {
  state: 'Silent',
  problem: { reason: 'CrashLooping', message: 'back-off' },
}

/** A cluster of three that serves, with these inference servers beside its nodes. */
function observedWith(inference: readonly Inference[], pod: Partial<PodView> = {}): Observed {
  const world = new World({ replicationFactor: 2 })
  settle(world, decide)
  const calm = world.observe(FRESH)
  const spec = {
    ...calm.cluster.spec,
    inference: { ...calm.cluster.spec.inference, enabled: true },
  }
  const pods = calm.nodes.pods.map((each, at) => ({
    ...each,
    readyChangedAtMs: 0,
    ...pod,
    inference: inference[at] ?? READY,
  }))
  return { ...calm, cluster: { ...calm.cluster, spec }, nodes: { ...calm.nodes, pods } }
}

function told(observed: Observed) {
  const { spec, status } = observed.cluster
  const pass = { observed, wanted: wantedOf(spec), memory: memoryOf(status) }
  return inferenceReady({ pass, waiting: undefined })
}

describe('the condition InferenceReady', () => {
  it('is true when each server is ready', () => {
    expect(told(observedWith([]))).to.include({ status: 'True', reason: 'ModelsLoaded' })
  })

  it('waits for the last one', () => {
    expect(told(observedWith([READY, LOADING]))).to.include({
      status: 'False',
      reason: 'ModelsLoading',
    })
  })

  it('tells of a model that will not be loaded, in the words of the server', () => {
    const message = 'acme/two: there is no such model'
    const failed: Inference = { state: 'Loading', message }

    expect(told(observedWith([LOADING, failed]))).to.include({
      reason: 'SidecarsNotReady',
      message: `c-node-1: ${message}`,
    })
  })

  it('tells of a server that says nothing beside a node that serves', () => {
    const { message, reason } = told(observedWith([READY, SILENT])) ?? {}

    expect(reason).to.equal('SidecarsNotReady')
    expect(message).to.match(/^c-node-1: .*does not answer/)
  })

  it('waits for a server that has a minute to begin to say something', () => {
    const observed = observedWith([SILENT])
    const pods = observed.nodes.pods.map((pod) => ({
      ...pod,
      readyChangedAtMs: observed.nowMs - 30_000,
    }))

    expect(told({ ...observed, nodes: { ...observed.nodes, pods } })?.reason).to.equal(
      'ModelsLoading',
    )
    expect(told(observedWith([SILENT], { isReady: false }))?.reason).to.equal('ModelsLoading')
  })

  it('tells of a container that does not run before all else', () => {
    const failed: Inference = { state: 'Loading', message: 'no such model' }

    expect(told(observedWith([failed, CRASHING]))).to.include({
      reason: 'SidecarCrashLooping',
      message: 'c-node-1: back-off',
    })
  })

  it('is looked at soon while models are loaded, since no object tells of it', () => {
    const loading = observedWith([LOADING])
    // The status has it after the first pass.
    const { status } = decide(loading)
    const again = { ...loading, cluster: { ...loading.cluster, status } }

    expect(decide(again).requeueMs).to.equal(15_000)
    expect(decide({ ...again, nodes: observedWith([]).nodes }).status.members?.[0]).to.include({
      inferenceReady: true,
    })
  })
})
