// A pod as the machines see it.
//
// What keeps the server of a pod from running is told apart from what is wrong beside it: a pod whose server cannot run is
// stopped without asking the store, and one whose server runs may have the only copy of something.

import type { PodProblem, PodView } from '../machines/observed/kubernetes-view.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { CONTAINERS } from '../resources/parts/names.ts'
import type { Component } from '../resources/parts/names.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import { conditionAt, NOT_YET_MS, recordsAt, textAt, timeMsAt, valueAt } from './json-fields.ts'

const REVISION = 'controller-revision-hash'

/** What a container waits for without end, in the words of the kubelet. */
const REASONS: Readonly<Record<string, PodProblem['reason']>> = {
  CrashLoopBackOff: 'CrashLooping',
  ErrImagePull: 'ImagePullFailed',
  ImagePullBackOff: 'ImagePullFailed',
  InvalidImageName: 'ImagePullFailed',
  ErrImageNeverPull: 'ImagePullFailed',
  ImageInspectError: 'ImagePullFailed',
  RegistryUnavailable: 'ImagePullFailed',
  SignatureValidationFailed: 'ImagePullFailed',
}

/** In the words of the scheduler, before and since Kubernetes 1.34. */
const TOPOLOGY_CONFLICTS = ['volume node affinity conflict', "PersistentVolume's node affinity"]

/** People read no longer messages than 1000 characters. */
const MESSAGE_LENGTH_MAX = 1000

/** What is known of a pod by its name. */
export interface PodPlace {
  readonly component: Component
  readonly ordinal: number
}

export function podViewOf(pod: StoredObject, { component, ordinal }: PodPlace): PodView {
  const { name, uid, labels = {}, deletionTimestamp } = pod.metadata
  const createdAtMs = timeMsAt(pod, 'metadata', 'creationTimestamp') ?? NOT_YET_MS
  const ready = conditionAt(pod, 'Ready')
  const isReady = ready?.['status'] === 'True'
  const problem = isReady ? undefined : problemOf(pod, CONTAINERS[component])
  return {
    name,
    ordinal,
    uid,
    revision: labels[REVISION] ?? '',
    isReady,
    readyChangedAtMs: timeMsAt(ready, 'lastTransitionTime') ?? createdAtMs,
    createdAtMs,
    isDeleting: deletionTimestamp !== undefined,
    ...(!isReady && isServing(pod, CONTAINERS[component]) ? { isServing: true } : {}),
    ...(problem === undefined ? {} : { problem }),
    ...inferenceOf(pod),
  }
}

function isServing(pod: StoredObject, server: string): boolean {
  const statuses = recordsAt(pod, 'status', 'containerStatuses')
  return (
    valueAt(
      statuses.find(({ name }) => name === server),
      'ready',
    ) === true
  )
}

/** Before it was asked. */
function inferenceOf(pod: StoredObject): Pick<PodView, 'inference'> {
  const hasSidecar = recordsAt(pod, 'spec', 'containers').some(isInference)
  if (!hasSidecar) return {}
  const status = recordsAt(pod, 'status', 'containerStatuses').find(isInference)
  const problem = status === undefined ? undefined : containerProblem(status)
  return { inference: { state: 'Silent', ...(problem === undefined ? {} : { problem }) } }
}

function isInference({ name }: JsonRecord): boolean {
  return name === CONTAINERS.inference
}

function problemOf(pod: StoredObject, server: string): PodProblem | undefined {
  const statuses = recordsAt(pod, 'status', 'containerStatuses')
  const own = statuses.find(({ name }) => name === server)
  if (valueAt(own, 'state', 'running') !== undefined) return undefined
  const others = [...recordsAt(pod, 'status', 'initContainerStatuses'), ...statuses].filter(
    (status) => status !== own && !isInference(status),
  )
  const problems = [...(own === undefined ? [] : [own]), ...others].flatMap(
    (status) => containerProblem(status) ?? [],
  )
  return problems[0] ?? placeProblem(pod)
}

function containerProblem(status: JsonRecord): PodProblem | undefined {
  const waitingFor = textAt(status, 'state', 'waiting', 'reason') ?? ''
  const reason = Object.hasOwn(REASONS, waitingFor) ? REASONS[waitingFor] : undefined
  if (reason === undefined) return undefined
  return { reason, message: told(textAt(status, 'state', 'waiting', 'message'), waitingFor) }
}

/** Why the pod has no Kubernetes node. One that is held back on purpose has no problem. */
function placeProblem(pod: StoredObject): PodProblem | undefined {
  const scheduled = conditionAt(pod, 'PodScheduled')
  if (scheduled?.['status'] !== 'False' || scheduled['reason'] === 'SchedulingGated') {
    return undefined
  }
  const message = told(textAt(scheduled, 'message'), textAt(scheduled, 'reason') ?? 'Unschedulable')
  const isTopology = TOPOLOGY_CONFLICTS.some((words) => message.includes(words))
  return { reason: isTopology ? 'VolumeTopologyConflict' : 'Unschedulable', message }
}

function told(message: string | undefined, reason: string): string {
  const text = message === undefined || message === '' ? reason : message
  return text.length <= MESSAGE_LENGTH_MAX ? text : `${text.slice(0, MESSAGE_LENGTH_MAX - 1)}…`
}
