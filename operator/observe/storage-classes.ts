import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { ApiError } from '../runtime/api/api-error.ts'
import type { ResourceKind } from '../runtime/api/api-object.ts'
import type { KubernetesApi } from '../runtime/api/kubernetes-api.ts'
import { valueAt } from './json-fields.ts'

const STORAGE_CLASSES: ResourceKind = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'storageclasses',
  kind: 'StorageClass',
  namespaced: false,
}

const KEPT_MS = 60_000
/** A class that nobody has asked for for ten minutes is forgotten. */
const FORGOTTEN_MS = 10 * KEPT_MS
const FORBIDDEN = 403

interface KnownClass {
  readonly isExpandable: boolean
  readonly readAtMs: number
}

/** By what classes are read. */
export interface StorageClassesOptions {
  readonly api: KubernetesApi
  readonly clock: Clock
  readonly log: Log
}

/**
 * Whether the volumes of a StorageClass can be expanded. Contract:
 * - `refresh` reads the classes of these names, each at most once a minute. It rejects as `get` does, but for a lack of
 *   permission, which is said once in the log.
 * - `isExpandable` answers what was read last: false for a class that is absent or may not be read, and without a name.
 */
export class StorageClasses {
  readonly #api: KubernetesApi
  readonly #clock: Clock
  readonly #log: Log
  readonly #known = new Map<string, KnownClass>()
  #isLackTold = false

  constructor({ api, clock, log }: StorageClassesOptions) {
    this.#api = api
    this.#clock = clock
    this.#log = log
  }

  async refresh(names: Iterable<string | undefined>, signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonicMs()
    for (const [name, { readAtMs }] of this.#known) {
      if (nowMs - readAtMs >= FORGOTTEN_MS) this.#known.delete(name)
    }
    for (const name of new Set(names)) {
      if (name === undefined || name === '') continue
      const known = this.#known.get(name)
      if (known !== undefined && nowMs - known.readAtMs < KEPT_MS) continue
      this.#known.set(name, { isExpandable: await this.#read(name, signal), readAtMs: nowMs })
    }
  }

  isExpandable(name: string | undefined): boolean {
    return name !== undefined && this.#known.get(name)?.isExpandable === true
  }

  async #read(name: string, signal: AbortSignal): Promise<boolean> {
    try {
      const found = await this.#api.get({ kind: STORAGE_CLASSES, namespace: '', name }, signal)
      return valueAt(found, 'allowVolumeExpansion') === true
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== FORBIDDEN) throw error
      if (!this.#isLackTold) {
        this.#isLackTold = true
        const fields = { storageClass: name, error: error.message }
        this.#log.warn('StorageClasses cannot be read: no volume is expanded', fields)
      }
      return false
    }
  }
}
