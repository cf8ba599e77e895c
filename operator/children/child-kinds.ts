// The kinds of the objects of a cluster, as the API serves them.

import { must } from '../../lib/assert.ts'
import { WATCHED_KINDS } from '../resources/permissions.ts'
import type { WatchedKind } from '../resources/permissions.ts'
import type { ResourceKind } from '../runtime/api/api-object.ts'

/** A kind that the operator watches. All of them have namespaces. */
export function resourceKindOf({ apiVersion, kind, plural }: WatchedKind): ResourceKind {
  const [group = '', version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
  return { group, version: version ?? apiVersion, plural, kind, namespaced: true }
}

const KINDS: ReadonlyMap<string, ResourceKind> = new Map(
  WATCHED_KINDS.map((watched) => [watched.kind, resourceKindOf(watched)]),
)

/** The kind of a name such as `Service`. */
export function kindNamed(name: string): ResourceKind {
  return must(KINDS.get(name), `kind ${name} among those that are watched`)
}

/** Objects of these are made and deleted as the spec asks for them. Sets, pods and claims have machines of their own. */
export const CHILD_KINDS = [
  'ServiceAccount',
  'ConfigMap',
  'Service',
  'NetworkPolicy',
  'PodDisruptionBudget',
  'PodMonitor',
] as const
