import { expect } from 'chai'
import type { PodProblem, PodView } from '../../../../operator/machines/observed/kubernetes-view.ts'
import { podViewOf } from '../../../../operator/observe/pod-view.ts'
import { CREATED_AT, storedPod } from '../../../support/operator/pool-objects.ts'

const CREATED_MS = Date.parse(CREATED_AT)
const LATER = '2026-11-27T03:00:00Z'
const NAME = 'books-node-1'

function viewOf(changes: object = {}, name = NAME): PodView {
  const component = name.includes('-etcd-') ? 'etcd' : 'node'
  return podViewOf(storedPod(name, changes), { component, ordinal: 1 })
}

function readiness(status: string, lastTransitionTime: string | null = LATER): object {
  return { status: { conditions: [{ type: 'Ready', status, lastTransitionTime }] } }
}

/** A pod of a node and its sidecar with these containers, each by its state. */
function withContainers(states: Readonly<Record<string, object>>, init: object = {}): object {
  return {
    spec: { containers: [{ name: 'quarry' }, { name: 'inference' }] },
    status: {
      conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: LATER }],
      containerStatuses: statusesOf(states),
      initContainerStatuses: statusesOf(init),
    },
  }
}

function statusesOf(states: object): object[] {
  return Object.entries(states).map(([name, state]) => ({ name, ready: false, state }))
}

function waiting(reason: string, message?: string): object {
  return { waiting: { reason, message } }
}

/** A pod whose server is ready or not, beside a sidecar that crashes. */
function podWith(isServerReady: boolean, isReady = 'False'): object {
  const crashing = waiting('CrashLoopBackOff')
  return {
    status: {
      conditions: [{ type: 'Ready', status: isReady, lastTransitionTime: LATER }],
      containerStatuses: [
        { name: 'quarry', ready: isServerReady, state: RUNNING },
        { name: 'inference', ready: false, state: crashing },
      ],
    },
  }
}

const RUNNING = { running: { startedAt: LATER } }
const STARTING = waiting('ContainerCreating')

describe('the view of a pod', () => {
  it('has what identifies it', () => {
    expect(viewOf()).to.deep.equal({
      name: NAME,
      ordinal: 1,
      uid: `uid-${NAME}`,
      revision: 'rev-a',
      isReady: false,
      readyChangedAtMs: CREATED_MS,
      createdAtMs: CREATED_MS,
      isDeleting: false,
    })
  })

  it('is ready only by the condition, since its last change', () => {
    const readyChangedAtMs = Date.parse(LATER)

    expect(viewOf(readiness('True'))).to.include({ isReady: true, readyChangedAtMs })
    for (const status of ['False', 'Unknown', 'true', '']) {
      expect(viewOf(readiness(status))).to.include({ isReady: false, readyChangedAtMs })
    }
  })

  it('is as it was made while no change is known', () => {
    for (const time of [null, '', 'soon']) {
      expect(viewOf(readiness('False', time)).readyChangedAtMs).to.equal(CREATED_MS)
    }
  })

  it('has not come to its times when they cannot be read', () => {
    const { createdAtMs, readyChangedAtMs } = viewOf({ metadata: { creationTimestamp: null } })

    expect(createdAtMs).to.be.greaterThan(Date.UTC(9999, 0))
    expect(readyChangedAtMs).to.equal(createdAtMs)
  })

  it('is on its way out when it has been deleted', () => {
    expect(viewOf({ metadata: { deletionTimestamp: LATER } }).isDeleting).to.equal(true)
  })

  it('has no revision without the label', () => {
    expect(
      viewOf({ metadata: { labels: { 'controller-revision-hash': null } } }).revision,
    ).to.equal('')
  })
})

describe('the problem of a pod', () => {
  const reasons: Readonly<Record<string, PodProblem['reason']>> = {
    CrashLoopBackOff: 'CrashLooping',
    ImagePullBackOff: 'ImagePullFailed',
    ErrImagePull: 'ImagePullFailed',
    InvalidImageName: 'ImagePullFailed',
    ErrImageNeverPull: 'ImagePullFailed',
  }
  for (const [word, reason] of Object.entries(reasons)) {
    it(`is ${reason} for ${word}, in Kubernetes' words`, () => {
      const told = viewOf(withContainers({ quarry: waiting(word, 'back-off 5m0s') }))
      const untold = viewOf(withContainers({ quarry: waiting(word) }))

      expect(told.problem).to.deep.equal({ reason, message: 'back-off 5m0s' })
      expect(untold.problem).to.deep.equal({ reason, message: word })
    })
  }

  it('is none for what ends by itself', () => {
    for (const word of ['ContainerCreating', 'PodInitializing', '', 'toString', 'constructor']) {
      expect(viewOf(withContainers({ quarry: waiting(word) }))).to.not.have.property('problem')
    }
  })

  it('is that of an init container, which the server waits for', () => {
    const init = { 'model-0': waiting('CrashLoopBackOff', 'model-0 restarts') }
    const { problem } = viewOf(withContainers({ quarry: waiting('PodInitializing') }, init))

    expect(problem).to.deep.equal({ reason: 'CrashLooping', message: 'model-0 restarts' })
  })

  it('is that of the server before those of others', () => {
    const states = {
      mesh: waiting('CrashLoopBackOff', 'mesh'),
      quarry: waiting('ErrImagePull', 'quarry'),
    }

    expect(viewOf(withContainers(states)).problem?.message).to.equal('quarry')
  })

  it('is none while the server runs, whatever is wrong beside it', () => {
    const crash = waiting('CrashLoopBackOff', 'back-off')
    const view = viewOf(
      withContainers({ quarry: RUNNING, mesh: crash, inference: crash }, { proxy: crash }),
    )

    expect(view).to.not.have.property('problem')
    expect(view.inference?.problem?.reason).to.equal('CrashLooping')
  })

  it('is none of a ready pod', () => {
    const scheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }
    const conditions = [{ type: 'Ready', status: 'True' }, scheduled]

    expect(viewOf({ status: { conditions } })).to.not.have.property('problem')
  })

  it('is that of the member of etcd', () => {
    const status = { containerStatuses: statusesOf({ etcd: waiting('CrashLoopBackOff') }) }

    expect(viewOf({ status }, 'books-etcd-1').problem?.reason).to.equal('CrashLooping')
  })

  const places: readonly (readonly [message: string, reason: PodProblem['reason']])[] = [
    ['0/3 nodes are available: 3 Insufficient memory.', 'Unschedulable'],
    [
      '0/3 nodes are available: 3 node(s) had volume node affinity conflict.',
      'VolumeTopologyConflict',
    ],
    [
      "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match PersistentVolume's node affinity.",
      'VolumeTopologyConflict',
    ],
  ]
  for (const [message, reason] of places) {
    it(`is ${reason} for "${message}"`, () => {
      expect(viewOf(unscheduled({ reason: 'Unschedulable', message })).problem).to.deep.equal({
        reason,
        message,
      })
    })
  }

  it('is Unschedulable without a message, too', () => {
    expect(viewOf(unscheduled({ reason: 'SchedulerError' })).problem).to.deep.equal({
      reason: 'Unschedulable',
      message: 'SchedulerError',
    })
  })

  it('is none of a pod that is held back on purpose, or not known to have no place', () => {
    expect(viewOf(unscheduled({ reason: 'SchedulingGated' }))).to.not.have.property('problem')
    expect(viewOf(unscheduled({ status: 'Unknown' }))).to.not.have.property('problem')
  })

  it('is as long as people read', () => {
    const { problem } = viewOf(
      withContainers({ quarry: waiting('ErrImagePull', 'x'.repeat(9000)) }),
    )

    expect(problem?.message).to.have.length(1000)
  })
})

function unscheduled(fields: object): object {
  return { status: { conditions: [{ type: 'PodScheduled', status: 'False', ...fields }] } }
}

describe('the inference server of a pod', () => {
  it('is absent without a sidecar', () => {
    expect(viewOf()).to.not.have.property('inference')
    expect(viewOf({}, 'books-etcd-1')).to.not.have.property('inference')
  })

  it('is silent until it was asked, since Kubernetes knows only that its container runs', () => {
    const spec = { containers: [{ name: 'quarry' }, { name: 'inference' }] }
    const running = { containerStatuses: [{ name: 'inference', ready: true, state: RUNNING }] }

    expect(viewOf({ spec }).inference).to.deep.equal({ state: 'Silent' })
    expect(viewOf({ spec, status: running }).inference).to.deep.equal({ state: 'Silent' })
  })

  it('keeps the pod from being ready, and not the node from serving', () => {
    expect(viewOf(podWith(true))).to.include({ isReady: false, isServing: true })
    expect(viewOf(podWith(false))).to.not.have.property('isServing')
    expect(viewOf(podWith(true, 'True'))).to.not.have.property('isServing')
  })

  it('has its own problem, which is none of the node', () => {
    const view = viewOf(
      withContainers({ quarry: STARTING, inference: waiting('ImagePullBackOff', 'no image') }),
    )

    expect(view.inference).to.deep.equal({
      state: 'Silent',
      problem: { reason: 'ImagePullFailed', message: 'no image' },
    })
    expect(view).to.not.have.property('problem')
  })
})
