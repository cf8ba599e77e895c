// What a pod and an event tell people, read from the JSON of the API.

import { isJsonRecord, isText, isWhole } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import type { StoredObject } from '../../operator/runtime/api/api-object.ts'

/** A pod of a cluster. */
export interface PodFacts {
  readonly name: string
  readonly component: string
  readonly ready: boolean
  readonly restarts: number
  readonly host?: string
  /** Why it is not ready, in Kubernetes' words: a reason such as `CrashLoopBackOff`, and a sentence. */
  readonly problem?: { readonly reason: string; readonly message: string }
}

/** An event about the cluster. */
export interface EventFacts {
  readonly at: string
  readonly type: string
  readonly reason: string
  readonly message: string
  readonly count: number
}

/** States of waiting that every pod has for a moment. */
const USUAL_WAITS: ReadonlySet<string> = new Set(['', 'ContainerCreating', 'PodInitializing'])

export function podFacts({ metadata, spec, status }: StoredObject): PodFacts {
  const state = recordOf(status)
  const containers = [
    ...recordsIn(state['initContainerStatuses']),
    ...recordsIn(state['containerStatuses']),
  ]
  const host = textIn(recordOf(spec), 'nodeName')
  const isReady = textIn(conditionIn(state, 'Ready'), 'status') === 'True'
  const isStopping = metadata.deletionTimestamp !== undefined
  const problem = isStopping
    ? { reason: 'Stopping', message: 'the pod is stopping' }
    : (waitingIn(containers) ?? unscheduledIn(state))
  return {
    name: metadata.name,
    component: metadata.labels?.['app.kubernetes.io/component'] ?? '',
    ready: isReady && !isStopping,
    restarts: containers.reduce((sum, one) => sum + wholeIn(one, 'restartCount'), 0),
    ...(host === '' ? {} : { host }),
    ...(problem === undefined ? {} : { problem }),
  }
}

function waitingIn(containers: readonly JsonRecord[]): PodFacts['problem'] {
  const waiting = containers.map((one) => recordOf(recordOf(one['state'])['waiting']))
  const found = waiting.find((one) => !USUAL_WAITS.has(textIn(one, 'reason')))
  return found === undefined
    ? undefined
    : { reason: textIn(found, 'reason'), message: textIn(found, 'message') }
}

function unscheduledIn(state: JsonRecord): PodFacts['problem'] {
  const scheduled = conditionIn(state, 'PodScheduled')
  if (textIn(scheduled, 'status') !== 'False') return undefined
  return { reason: textIn(scheduled, 'reason'), message: textIn(scheduled, 'message') }
}

function conditionIn(state: JsonRecord, type: string): JsonRecord {
  return recordsIn(state['conditions']).find((one) => textIn(one, 'type') === type) ?? {}
}

/** The newest first. */
export function eventFacts(events: readonly unknown[]): readonly EventFacts[] {
  return events
    .filter(isJsonRecord)
    .map((event) => {
      const series = recordOf(event['series'])
      return {
        at: firstText(series['lastObservedTime'], event['lastTimestamp'], event['eventTime']),
        type: textIn(event, 'type'),
        reason: textIn(event, 'reason'),
        message: textIn(event, 'message'),
        count: Math.max(1, wholeIn(series, 'count'), wholeIn(event, 'count')),
      }
    })
    .toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at))
}

function firstText(...values: readonly unknown[]): string {
  return values.find((value) => isText(value) && value !== '')?.toString() ?? ''
}

export function recordOf(value: unknown): JsonRecord {
  return isJsonRecord(value) ? value : {}
}

function recordsIn(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isJsonRecord) : []
}

export function textIn(record: JsonRecord, name: string): string {
  const value = record[name]
  return isText(value) ? value : ''
}

function wholeIn(record: JsonRecord, name: string): number {
  const value = record[name]
  return isWhole(value) ? value : 0
}
