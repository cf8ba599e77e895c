// Statuses of pods as kubelets write them.

import type { StoredObject } from '../../../../operator/runtime/api/api-object.ts'
import { recordOf, textsOf } from './stored-fields.ts'

type Condition = 'True' | 'False'

const SCHEDULED = { Initialized: 'True', PodScheduled: 'True' }

/** All containers run, and have passed their probes. */
export function readyStatus(pod: StoredObject): object {
  const state = { running: { startedAt: secondsNow() } }
  return statusOf(pod, 'True', { ready: true, restartCount: 0, started: true, state })
}

/** Each container ends as soon as it is started. */
export function crashingStatus(pod: StoredObject): object {
  const waiting = { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container' }
  const crashing = { ready: false, restartCount: 5, started: false, state: { waiting } }
  return statusOf(pod, 'False', crashing)
}

function statusOf(pod: StoredObject, ready: Condition, container: object): object {
  const conditions = { ...SCHEDULED, ContainersReady: ready, Ready: ready }
  return {
    phase: 'Running',
    conditions: Object.entries(conditions).map(([type, status]) => {
      return { type, status, lastTransitionTime: secondsNow() }
    }),
    containerStatuses: containersOf(pod).map(({ name }) => {
      return { name, image: 'stub', imageID: 'stub', ...container }
    }),
  }
}

export function isReady({ status }: StoredObject): boolean {
  const { conditions } = recordOf(status)
  if (!Array.isArray(conditions)) return false
  return conditions.map(textsOf).some((one) => one['type'] === 'Ready' && one['status'] === 'True')
}

/** Whether a status was written: the containers are started, and may have ended. */
export function isRunning({ status }: StoredObject): boolean {
  return recordOf(status)['phase'] === 'Running'
}

/** The images of its containers, in order. */
export function imagesOf(pod: StoredObject): readonly string[] {
  return containersOf(pod).flatMap(({ image }) => image ?? [])
}

function containersOf({ spec }: StoredObject): ReturnType<typeof textsOf>[] {
  const { containers } = recordOf(spec)
  return Array.isArray(containers) ? containers.map(textsOf) : []
}

/** Kubernetes' times have no fractions. */
function secondsNow(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z')
}
