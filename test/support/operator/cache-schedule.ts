// Random schedules of a cache and an API server that fails in many ways.

import { isDeepStrictEqual } from 'node:util'
import { ManualClock } from '../../../lib/clock.ts'
import { isJsonRecord, isText } from '../../../lib/json-record.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom } from '../../../lib/random.ts'
import type { Random } from '../../../lib/random.ts'
import { keyOf, refOf } from '../../../operator/runtime/api/api-object.ts'
import type { StoredObject } from '../../../operator/runtime/api/api-object.ts'
import {
  RELIST_MS,
  SILENCE_MS_MAX,
  STALE_LISTS_MAX,
} from '../../../operator/runtime/cache/informer.ts'
import { KindCache } from '../../../operator/runtime/cache/kind-cache.ts'
import { compareVersions } from '../../../operator/runtime/cache/object-index.ts'
import { unansweredError } from '../../../operator/runtime/api/api-error.ts'
import { FakeKubernetes } from '../kubernetes/fake-kubernetes.ts'
import { refusal } from '../kubernetes/fake-store.ts'
import { CONFIG_MAPS } from '../kubernetes/known-kinds.ts'
import { pass, settle } from './settle.ts'

const STEPS = 60
const NAMES = ['a', 'b', 'c', 'd']
const GROUPS = ['group-1', 'group-2']
const SELECTION = { kind: CONFIG_MAPS, namespace: 'test', labelSelector: '' }
const { signal } = new AbortController()

/** The first invariant that the schedule of a seed breaks; undefined if none. */
export async function wrongOfCache(seed: number): Promise<string | undefined> {
  const schedule = new Schedule(seededRandom(seed))
  try {
    return await schedule.run()
  } finally {
    await schedule.stop()
  }
}

class Schedule {
  readonly #random: Random
  readonly #clock = new ManualClock()
  readonly #api = new FakeKubernetes(this.#clock, [CONFIG_MAPS])
  readonly #cache: KindCache
  /** What somebody knows who hears which objects changed, and reads the cache then. */
  readonly #mirror = new Map<string, StoredObject>()
  #wrong: string | undefined

  constructor(random: Random) {
    this.#random = random
    this.#cache = new KindCache({
      api: this.#api,
      clock: this.#clock,
      random,
      log: silentLog,
      kind: CONFIG_MAPS,
      namespaces: ['test'],
      labelSelector: '',
      absentRecheckMs: 30_000,
      groupOf,
      onChange: (object) => this.#hear(object),
    })
  }

  async run(): Promise<string | undefined> {
    this.#cache.start()
    await settle()
    for (let step = 0; step < STEPS && this.#wrong === undefined; step++) await this.#step()
    return this.#wrong ?? (await this.#wrongAfterFaults()) ?? (await this.#wrongAfterSilence())
  }

  async stop(): Promise<void> {
    await this.#cache.stop()
  }

  #hear(object: StoredObject): void {
    const key = keyOf(object.metadata)
    const seen = this.#cache.get(object.metadata)
    const known = this.#mirror.get(key)
    if (seen === undefined) this.#mirror.delete(key)
    else this.#mirror.set(key, seen)
    if (seen === undefined && known === undefined) this.#wrong ??= `OX1: ${key} is gone twice`
    if (seen === undefined || known === undefined) return
    const order = compareVersions(seen.metadata.resourceVersion, known.metadata.resourceVersion)
    if (order <= 0) this.#wrong ??= `OX1: ${key} became older, or was told twice`
    if (this.#random() < 0.1) throw new Error('a handler fails')
  }

  async #step(): Promise<void> {
    const acts: readonly (() => Promise<void> | void)[] = [
      () => this.#write(),
      () => this.#write(),
      () => this.#write(),
      () => this.#write(),
      () => this.#remove(),
      () => this.#fail(),
      () => this.#disturb(),
      () => this.#wait(),
      () => this.#wait(),
    ]
    await acts[Math.floor(this.#random() * acts.length)]?.()
    await settle()
  }

  async #write(): Promise<void> {
    const name = this.#oneOf(NAMES)
    const metadata = { name, namespace: 'test' }
    const data = { value: String(this.#random()), group: this.#oneOf([...GROUPS, '']) }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
    await this.#api.apply({ kind: CONFIG_MAPS, object, force: true }, signal)
  }

  async #remove(): Promise<void> {
    const ref = refOf(CONFIG_MAPS, { name: this.#oneOf(NAMES), namespace: 'test' })
    const found = await this.#liveOf(ref.name)
    if (found === undefined) return
    const { uid, resourceVersion } = found.metadata
    await this.#api.delete({ ref, uid, resourceVersion, propagation: 'Background' }, signal)
  }

  #fail(): void {
    const status = this.#oneOf([0, 429, 500, 503, 410])
    const times = 1 + Math.floor(this.#random() * 4)
    this.#api.faults.add({ verbs: ['list', 'watch'], times, status, retryAfterMs: 2000 })
  }

  /** Between two calls of the cache, nothing is found missing by accident: lists are older by some changes at most. */
  #disturb(): void {
    const random = this.#random()
    if (random < 0.15) this.#api.endWatches({ kind: 'closed' })
    else if (random < 0.3) {
      this.#api.endWatches({ kind: 'failed', error: unansweredError(new Error('cut')) })
    } else if (random < 0.5) this.#api.stallWatches()
    else if (random < 0.6) this.#api.endWatches({ kind: 'failed', error: refusal(410, 'Expired') })
    else if (random < 0.7) this.#api.compact()
    else if (random < 0.8) this.#api.deliversTwice = !this.#api.deliversTwice
    else if (random < 0.9) {
      this.#api.serveStaleLists(this.#api.store.version - 3, STALE_LISTS_MAX)
      this.#api.endWatches({ kind: 'failed', error: refusal(410, 'Expired') })
    } else {
      this.#api.unserve(CONFIG_MAPS)
      this.#clock.after(20_000, () => this.#api.serve(CONFIG_MAPS))
      this.#clock.advance(20_000)
    }
  }

  async #wait(): Promise<void> {
    await pass(this.#clock, Math.floor(this.#random() * 40_000), 5000)
  }

  /** IN1, IN2, IN3, OX2 to OX4: whatever happened, the cache is right after the longest time between two lists. */
  async #wrongAfterFaults(): Promise<string | undefined> {
    this.#api.faults.clear()
    await pass(this.#clock, RELIST_MS * 1.1 + SILENCE_MS_MAX + 60_000, 10_000)
    return this.#wrong ?? this.#difference('after the faults')
  }

  /** IN3: a silent watch alone costs less time than that. */
  async #wrongAfterSilence(): Promise<string | undefined> {
    this.#api.stallWatches()
    await this.#write()
    await this.#remove()
    await pass(this.#clock, SILENCE_MS_MAX + 2000, 2000)
    return this.#difference('after a silent watch')
  }

  #difference(when: string): string | undefined {
    if (!this.#cache.isReady()) return `IN2: the cache is not ready ${when}`
    const live = this.#api.store.select(SELECTION)
    const cached = this.#cache.list().toSorted(byKey)
    if (!isDeepStrictEqual(cached, live)) return `IN3: the cache differs ${when}`
    const mirrored = [...this.#mirror.values()].toSorted(byKey)
    if (!isDeepStrictEqual(mirrored, live)) return `OX3: somebody who listens differs ${when}`
    const wrong = GROUPS.find((group) => {
      const members = live.filter((object) => groupOf(object) === group)
      return !isDeepStrictEqual(this.#cache.inGroup(group).toSorted(byKey), members)
    })
    return wrong === undefined ? undefined : `OX4: the objects of ${wrong} differ ${when}`
  }

  async #liveOf(name: string): Promise<StoredObject | undefined> {
    return this.#api.get(refOf(CONFIG_MAPS, { name, namespace: 'test' }), signal)
  }

  #oneOf<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)]!
  }
}

function groupOf({ data }: StoredObject): string | undefined {
  if (!isJsonRecord(data)) return undefined
  return isText(data['group']) ? data['group'] : undefined
}

function byKey(a: StoredObject, b: StoredObject): number {
  return keyOf(a.metadata) < keyOf(b.metadata) ? -1 : 1
}
