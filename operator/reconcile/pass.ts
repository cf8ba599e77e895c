// One pass over one cluster. Read it as the diagram:
//
//   the object ─► what is read ─► decide ─► one step ─► the status ─► events ─► the next look
//
// Invariants:
//   PS1  What a pass remembers of a cluster is in the status of the object: the next pass may be that of another process.
//   PS2  A step is taken only while the object is still as it was read; the status is written only over that version.
//   PS3  A pass takes one step, and a pass that is settled writes nothing.
//   PS4  Nothing of one cluster keeps another one waiting but the number of workers.

import { randomBytes } from 'node:crypto'
import { assert } from '../../lib/assert.ts'
import { messageOf } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import { CLUSTER_KIND } from '../carry-out/cluster-steps.ts'
import { StepExecutor } from '../carry-out/step-executor.ts'
import { systemKeys } from '../certificates/system-keys.ts'
import { readStoreCluster } from '../kinds/crd/read-store-cluster.ts'
import type { FieldProblem } from '../kinds/crd/read-store-cluster.ts'
import { decide } from '../machines/decide.ts'
import type { Decision, OperatorEvent, Step } from '../machines/pass/decision.ts'
import { classifyError } from '../runtime/api/api-error.ts'
import type { ErrorClass } from '../runtime/api/api-error.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import type { EventRecorder } from '../runtime/events/event-recorder.ts'
import type { Outcome } from '../runtime/queue/queue-workers.ts'
import { writeStatus } from '../runtime/writes/status-writer.ts'
import { gather } from './gather.ts'
import type { Gathered, Sources } from './gather.ts'
import { malformedStatus, problemsText, refusedStatus } from './told-status.ts'

/** The caches are behind what was read live, and follow within this, or soon after it. */
const OUTDATED_RETRY_MS = 250
const OUTDATED_RETRY_MAX_MS = 15_000
/** The spread of looks by which many clusters do not ask their stores at the same moment. */
const JITTER = 0.1

/** What passes have in common. */
export interface PassOptions extends Sources {
  readonly events: EventRecorder
  readonly random: Random
  readonly log: Log
}

/**
 * Contract:
 * - `pass` reads a cluster, takes one step at most, writes its status if it differs, and answers when to look again. It
 *   rejects with an error of `classifyError`; whatever was done is found again by the next pass.
 * - No two passes of one key run at a time: the caller sees to that.
 */
export class ClusterPasses {
  readonly #with: PassOptions
  readonly #steps: StepExecutor
  /** The UIDs of clusters that a pass was made for, by their keys. */
  readonly #uids = new Map<string, string>()
  /** How often in a row the step of a cluster's pass was outdated. */
  readonly #outdated = new Map<string, number>()

  constructor(options: PassOptions) {
    this.#with = options
    const { api, applier, clock } = options
    this.#steps = new StepExecutor({ api, applier, clock, keys: systemKeys, random: randomBytes })
  }

  async pass(key: string, signal: AbortSignal): Promise<Outcome> {
    const { api, caches } = this.#with
    const object = caches.cluster(key)
    await this.#forgetOthers(key, object?.metadata.uid)
    if (object === undefined) return { kind: 'done' }
    const read = readStoreCluster(object)
    if (read.kind === 'malformed') return this.#refuse(object, read.problems, signal)
    const gathered = await gather(this.#with, { key, object, cluster: read.cluster }, signal)
    const decision = decide(gathered.observed)
    this.#with.slots.note(key, decision.status)
    if (decision.step !== undefined) {
      const happened = await this.#carryOut(decision.step, { object, gathered }, signal)
      if (!happened) return this.#again(key)
      // It has made the object newer, and the next pass tells of it.
      if (CHANGES_OBJECT.has(decision.step.kind)) return soon(decision)
    }
    this.#outdated.delete(key)
    await writeStatus(api, { kind: CLUSTER_KIND, object, status: jsonOf(decision) }, signal)
    for (const event of decision.events) this.#record(object, event, decision.step)
    return this.#later(decision)
  }

  async #carryOut(
    step: Step,
    { object, gathered }: { readonly object: StoredObject; readonly gathered: Gathered },
    signal: AbortSignal,
  ): Promise<boolean> {
    const { log } = this.#with
    const { namespace, name } = object.metadata
    try {
      const outcome = await this.#steps.carryOut(step, { cluster: object, ...gathered }, signal)
      log.info('step', { namespace, name, ...shown(step), outcome })
      return outcome === 'done'
    } catch (error) {
      if (REFUSED.has(classifyError(error))) {
        await this.#tellRefusal(step, { object, error }, signal)
      }
      throw error
    }
  }

  /** People can mend it: rights, quotas, Pod Security, a name that an admission refuses. */
  async #tellRefusal(
    { kind: step }: Step,
    { object, error }: { readonly object: StoredObject; readonly error: unknown },
    signal: AbortSignal,
  ): Promise<void> {
    const { api, clock, events, log } = this.#with
    const note = `${step}: ${messageOf(error)}`
    events.record(object, { type: 'Warning', reason: 'StepRefused', action: 'Step', note })
    const status = refusedStatus(object, { step, error }, clock.nowMs())
    try {
      await writeStatus(api, { kind: CLUSTER_KIND, object, status }, signal)
    } catch (failure) {
      // The pass fails by the refusal itself, and the next one tells it again.
      log.debug('a refusal is not in the status', { error: messageOf(failure) })
    }
  }

  /** Caches that are behind follow at once; a refusal of the store or of etcd may last. */
  #again(key: string): Outcome {
    const times = this.#outdated.get(key) ?? 0
    this.#outdated.set(key, times + 1)
    const afterMs = Math.min(OUTDATED_RETRY_MS * 2 ** times, OUTDATED_RETRY_MAX_MS)
    return { kind: 'requeue', afterMs, reason: 'outdated' }
  }

  #record(object: StoredObject, { type, reason, message }: OperatorEvent, step?: Step): void {
    const action = step === undefined ? 'Reconcile' : actionOf(step)
    this.#with.events.record(object, { type, reason, action, note: message })
  }

  #later({ requeueMs }: Decision): Outcome {
    const afterMs = requeueMs * (1 + JITTER * this.#with.random())
    return { kind: 'requeue', afterMs, reason: 'next look' }
  }

  /** Nothing is done for it. A mended object is a change, which brings the next pass. */
  async #refuse(
    object: StoredObject,
    problems: readonly FieldProblem[],
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { api, clock, events } = this.#with
    const status = malformedStatus(object, problems, clock.nowMs())
    const written = await writeStatus(api, { kind: CLUSTER_KIND, object, status }, signal)
    if (written !== object) {
      const note = problemsText(problems)
      events.record(object, { type: 'Warning', reason: 'MalformedObject', action: 'Read', note })
    }
    return { kind: 'done' }
  }

  /** A cluster that is gone, also where another one has its name by now. */
  async #forgetOthers(key: string, uid: string | undefined): Promise<void> {
    const known = this.#uids.get(key)
    if (known !== undefined && known !== uid) {
      this.#with.slots.note(key, undefined)
      await this.#with.admins.forget(known)
    }
    if (uid !== undefined) return void this.#uids.set(key, uid)
    this.#uids.delete(key)
    this.#outdated.delete(key)
  }
}

const CHANGES_OBJECT: ReadonlySet<Step['kind']> = new Set(['add_finalizer', 'remove_finalizer'])
const REFUSED: ReadonlySet<ErrorClass> = new Set(['forbidden', 'invalid'])

function soon({ requeueMs }: Decision): Outcome {
  return { kind: 'requeue', afterMs: requeueMs, reason: 'after a step' }
}

/** As it is sent: members that are undefined are absent there. */
function jsonOf({ status }: Decision): JsonRecord {
  const sent: unknown = JSON.parse(JSON.stringify(status))
  assert(isJsonRecord(sent), 'a status is an object')
  return sent
}

/** `hand_over` as HandOver: events have words in CamelCase. */
function actionOf({ kind }: Step): string {
  return kind
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

/** What a log line shows of a step: never a Secret, for no step has one. */
function shown({ kind, ...rest }: Step): Readonly<Record<string, unknown>> {
  return { step: kind, about: JSON.stringify(rest) }
}
