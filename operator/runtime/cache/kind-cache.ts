// The objects of one kind in the namespaces that the operator looks after.

import { messageOf } from '../../../lib/errors.ts'
import { keyOf } from '../api/api-object.ts'
import type { ObjectMetadata, ResourceKind, StoredObject } from '../api/api-object.ts'
import { Informer } from './informer.ts'
import type { InformerFigures, InformerOptions } from './informer.ts'
import { ObjectIndex } from './object-index.ts'
import type { GroupOf, OnChange } from './object-index.ts'

/** An optional kind whose CRD is absent is looked for once a minute. */
export const ABSENT_RECHECK_MS = 60_000

/** Which objects a cache has, and who hears of their changes. */
export interface CacheOptions extends InformerOptions {
  readonly kind: ResourceKind
  /** No namespace means all of them. */
  readonly namespaces: readonly string[]
  readonly labelSelector: string
  /** By what `inGroup` finds objects. It must not throw. */
  readonly groupOf: GroupOf
  /** Hears of each change. It only notes which key needs a pass: the object may be gone, or another one, by then. */
  readonly onChange: OnChange
}

/**
 * What the API last told of a kind. It lags behind the API, also behind the operator's own writes: what cannot be undone is
 * decided by a `get` and its preconditions.
 *
 * Contract:
 * - `get`, `list` and `inGroup` answer at once, from memory. Nobody may change what they answer.
 * - It is ready while the kind is served, from the first lists of all its namespaces on.
 * - `synced` resolves when it is ready for the first time. It never rejects.
 * - An exception of `onChange` is counted and logged, and changes nothing else.
 */
export class KindCache {
  readonly kind: ResourceKind
  readonly #parts: readonly { readonly index: ObjectIndex; readonly informer: Informer }[]
  #handlerFailures = 0

  constructor(options: CacheOptions) {
    const { kind, labelSelector, groupOf, onChange, log } = options
    this.kind = kind
    const safely: OnChange = (object) => {
      try {
        onChange(object)
      } catch (error) {
        this.#handlerFailures += 1
        log.error('cache handler failed', { kind: kind.plural, error: messageOf(error) })
      }
    }
    const namespaces = options.namespaces.length === 0 ? [''] : options.namespaces
    this.#parts = namespaces.map((namespace) => {
      const index = new ObjectIndex(safely, groupOf)
      const informer = new Informer({ kind, namespace, labelSelector }, index, options)
      return { index, informer }
    })
  }

  get synced(): Promise<void> {
    return Promise.all(this.#parts.map(({ informer }) => informer.synced)).then(() => undefined)
  }

  get handlerFailures(): number {
    return this.#handlerFailures
  }

  isReady(): boolean {
    return this.informers().every(({ isReady }) => isReady)
  }

  informers(): readonly InformerFigures[] {
    return this.#parts.map(({ informer }) => informer.figures())
  }

  get size(): number {
    return this.#parts.reduce((sum, { index }) => sum + index.size, 0)
  }

  get(metadata: Pick<ObjectMetadata, 'name' | 'namespace'>): StoredObject | undefined {
    const key = keyOf(metadata)
    for (const { index } of this.#parts) {
      const found = index.get(key)
      if (found !== undefined) return found
    }
    return undefined
  }

  list(): readonly StoredObject[] {
    return this.#parts.flatMap(({ index }) => [...index.values()])
  }

  inGroup(group: string): readonly StoredObject[] {
    return this.#parts.flatMap(({ index }) => index.inGroup(group))
  }

  start(): void {
    for (const { informer } of this.#parts) informer.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#parts.map(({ informer }) => informer.stop()))
  }
}
