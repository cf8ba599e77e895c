// What the operator watches: a cache for each kind, and which cluster a changed object belongs to.

import { resourceKindOf } from '../children/child-kinds.ts'
import { STORE_CLUSTER } from '../kinds/cluster/store-cluster.ts'
import { WATCHED_KINDS } from '../resources/permissions.ts'
import type { WatchedKind } from '../resources/permissions.ts'
import { KindCache, ABSENT_RECHECK_MS } from '../runtime/cache/kind-cache.ts'
import type { InformerOptions } from '../runtime/cache/informer.ts'
import { keyOf } from '../runtime/api/api-object.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'

/** The kind of clusters may come after the operator, and is looked for often. */
const NEEDED_RECHECK_MS = 5000
const INSTANCE_LABEL = 'app.kubernetes.io/instance'

/** Where the caches are filled from, and who hears of changes. */
export interface CachesOptions extends Omit<InformerOptions, 'absentRecheckMs' | 'isOptional'> {
  /** No namespace means all of them. */
  readonly namespaces: readonly string[]
  /** Hears which cluster needs a pass: the key of its StoreCluster, which may not exist. */
  readonly onChange: (key: string) => void
}

/**
 * The caches of all kinds. Contract:
 * - `of` answers the objects of a kind that have the labels of the cluster, also those of other owners.
 * - A change of any of them is told by the key of the cluster.
 */
export class ClusterCaches {
  readonly #caches: ReadonlyMap<string, KindCache>
  readonly #optional: ReadonlySet<string>

  constructor({ namespaces, onChange, ...informers }: CachesOptions) {
    const build = (watched: WatchedKind): KindCache =>
      new KindCache({
        ...informers,
        kind: resourceKindOf(watched),
        namespaces,
        labelSelector: watched.labelSelector ?? '',
        absentRecheckMs: watched.isOptional === true ? ABSENT_RECHECK_MS : NEEDED_RECHECK_MS,
        isOptional: watched.isOptional === true,
        groupOf: clusterKeyOf,
        onChange: (object) => {
          const key = clusterKeyOf(object)
          if (key !== undefined) onChange(key)
        },
      })
    this.#caches = new Map(WATCHED_KINDS.map((watched) => [watched.kind, build(watched)]))
    this.#optional = new Set(
      WATCHED_KINDS.filter(({ isOptional }) => isOptional === true).map(({ kind }) => kind),
    )
  }

  all(): readonly KindCache[] {
    return [...this.#caches.values()]
  }

  /** Those without which nothing is decided. */
  needed(): readonly KindCache[] {
    return this.all().filter(({ kind }) => !this.#optional.has(kind.kind))
  }

  /** Throws a RangeError for a kind that is not watched. */
  cache(kind: string): KindCache {
    const cache = this.#caches.get(kind)
    if (cache === undefined) throw new RangeError(`${kind} is not watched`)
    return cache
  }

  clusters(): readonly StoredObject[] {
    return this.cache(STORE_CLUSTER.kind).list()
  }

  cluster(key: string): StoredObject | undefined {
    const [namespace = '', name = ''] = key.split('/')
    return this.cache(STORE_CLUSTER.kind).get({ namespace, name })
  }

  of(kind: string, cluster: ClusterName): readonly StoredObject[] {
    return this.cache(kind).inGroup(keyOf(cluster))
  }

  /** Since when the API server has said nothing of the kind of which it was heard least. */
  ageMs(): number {
    const ages = this.needed().flatMap((cache) =>
      cache.informers().map(({ lastEventAgeMs }) => lastEventAgeMs),
    )
    return Math.max(0, ...ages)
  }

  start(): void {
    for (const cache of this.all()) cache.start()
  }

  /** Resolves when all that is needed was read once. */
  async synced(): Promise<void> {
    await Promise.all(this.needed().map(({ synced }) => synced))
  }
}

/** Where a cluster is. */
export interface ClusterName {
  readonly namespace: string
  readonly name: string
}

function clusterKeyOf({ kind, metadata }: StoredObject): string | undefined {
  if (kind === STORE_CLUSTER.kind) return keyOf(metadata)
  const name = metadata.labels?.[INSTANCE_LABEL]
  return name === undefined ? undefined : keyOf({ ...metadata, name })
}
