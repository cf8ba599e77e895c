// Events about objects, as people see them in `kubectl describe`.
//
// Invariants:
//   NV1  Recording never fails, and nobody waits for it: what cannot be sent is counted and dropped.
//   NV2  Events of one object, reason and note are one event, whose series counts them, for as long as they recur within
//        `SERIES_MS`.
//   NV3  One object has `BURST` new events at once, and one more each `REFILL_MS`.
//   NV4  No event has a secret value.

import { messageOf } from '../../../lib/errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Log } from '../../../lib/log.ts'
import { apiVersionOf } from '../api/api-object.ts'
import type { ApiObject, ObjectRef, ResourceKind, StoredObject } from '../api/api-object.ts'
import type { KubernetesApi } from '../api/kubernetes-api.ts'
import { microTime } from '../election/lease-record.ts'
import { TokenBucket } from '../queue/token-bucket.ts'
import { hashOf } from '../writes/applier.ts'
import { redacted } from './redactor.ts'

export const BURST = 25
export const REFILL_MS = 5 * 60_000
export const SERIES_MS = 6 * 60_000
/** Limits of the API: 1024 bytes of a note, 128 of a reason and of an action. */
const NOTE_BYTES_MAX = 1024
/** 4096 different events and objects are remembered; older ones begin anew. */
const KEPT_MAX = 4096
/** More than this wait for an API that is away. Events after them are dropped. */
const PENDING_MAX = 1000
/** Events of objects without a namespace are kept here. */
const DEFAULT_NAMESPACE = 'default'

const EVENTS: ResourceKind = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
}

export type EventType = 'Normal' | 'Warning'

/** What happened to an object. `reason` and `action` are words in CamelCase. */
export interface OperatorEvent {
  readonly type: EventType
  readonly reason: string
  readonly action: string
  readonly note: string
}

/** Who sends events, and how. */
export interface RecorderOptions {
  readonly api: KubernetesApi
  readonly clock: Clock
  readonly log: Log
  /** Such as `quarry.dev/operator`. */
  readonly controller: string
  /** The name of this pod. */
  readonly instance: string
  /** Values that no event may show. Asked for each event. */
  readonly secrets: () => Iterable<string>
}

interface Series {
  readonly ref: ObjectRef
  count: number
  lastMs: number
}

/** Sends events in the background, in their order. */
export class EventRecorder {
  readonly #with: RecorderOptions
  readonly #series = new Map<string, Series>()
  readonly #buckets = new Map<string, TokenBucket>()
  readonly #abort = new AbortController()
  #sending: Promise<void> = Promise.resolve()
  #pending = 0
  #sent = 0
  #dropped = 0
  #names = 0

  constructor(options: RecorderOptions) {
    this.#with = options
  }

  get figures(): { readonly sent: number; readonly dropped: number } {
    return { sent: this.#sent, dropped: this.#dropped }
  }

  record(object: StoredObject, event: OperatorEvent): void {
    if (this.#pending >= PENDING_MAX) return void (this.#dropped += 1)
    const note = shortened(redacted(event.note, this.#with.secrets()))
    this.#pending += 1
    this.#sending = this.#sending
      .then(() => this.#send(object, { ...event, note }))
      .catch((error: unknown) => this.#drop(error))
      .finally(() => (this.#pending -= 1))
  }

  /** Waits for what is recorded. */
  flushed(): Promise<void> {
    return this.#sending
  }

  close(): void {
    this.#abort.abort()
  }

  async #send(object: StoredObject, event: OperatorEvent): Promise<void> {
    const nowMs = this.#with.clock.monotonicMs()
    const { uid } = object.metadata
    const key = hashOf([uid, event.reason, event.type, event.note])
    const known = this.#series.get(key)
    if (known !== undefined && nowMs - known.lastMs < SERIES_MS) return this.#count(known, nowMs)
    if (!this.#bucketOf(uid).tryTake(nowMs)) return void (this.#dropped += 1)
    const ref = this.#newRef(object, key)
    const built = this.#eventFor(object, event, ref)
    await this.#with.api.create(EVENTS, built, this.#abort.signal)
    this.#sent += 1
    keep(this.#series, key, { ref, count: 1, lastMs: nowMs })
  }

  async #count(series: Series, nowMs: number): Promise<void> {
    series.count += 1
    series.lastMs = nowMs
    const lastObservedTime = microTime(this.#with.clock.nowMs())
    const value = { series: { count: series.count, lastObservedTime } }
    const patch = { ref: series.ref, patch: { type: 'merge', value }, part: 'object' } as const
    await this.#with.api.patch(patch, this.#abort.signal)
    this.#sent += 1
  }

  #newRef({ metadata }: StoredObject, key: string): ObjectRef {
    this.#names += 1
    const namespace = metadata.namespace ?? DEFAULT_NAMESPACE
    const start = this.#with.clock.nowMs().toString(36)
    const name = `${metadata.name}.${key.slice(0, 8)}${start}${this.#names.toString(36)}`
    return { kind: EVENTS, namespace, name }
  }

  #eventFor(object: StoredObject, event: OperatorEvent, { name, namespace }: ObjectRef): ApiObject {
    const { uid, resourceVersion } = object.metadata
    return {
      apiVersion: apiVersionOf(EVENTS),
      kind: EVENTS.kind,
      metadata: { name, namespace },
      eventTime: microTime(this.#with.clock.nowMs()),
      reportingController: this.#with.controller,
      reportingInstance: this.#with.instance,
      ...event,
      regarding: {
        apiVersion: object.apiVersion,
        kind: object.kind,
        namespace: object.metadata.namespace,
        name: object.metadata.name,
        uid,
        resourceVersion,
      },
    }
  }

  #bucketOf(uid: string): TokenBucket {
    const known = this.#buckets.get(uid)
    const bucket = known ?? new TokenBucket({ perSecond: 1000 / REFILL_MS, burst: BURST })
    keep(this.#buckets, uid, bucket)
    return bucket
  }

  #drop(error: unknown): void {
    this.#dropped += 1
    this.#with.log.debug('event was not sent', { error: messageOf(error) })
  }
}

/** Puts a value last, and forgets the first one of too many. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > KEPT_MAX && oldest !== undefined) map.delete(oldest)
}

function shortened(note: string): string {
  if (Buffer.byteLength(note) <= NOTE_BYTES_MAX) return note
  // A character may be cut in half there, which becomes one that stands for the unknown.
  const start = Buffer.from(note)
    .subarray(0, NOTE_BYTES_MAX - 6)
    .toString()
  return `${start}…`
}
