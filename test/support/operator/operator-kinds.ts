// Every kind that the operator touches, as the fake API server serves it.

import { resourceKindOf } from '../../../operator/children/child-kinds.ts'
import { WATCHED_KINDS } from '../../../operator/resources/permissions.ts'
import type { FakeKind } from '../kubernetes/fake-store.ts'

/** Kinds that count the changes of everything but their status. */
const COUNTED = new Set([
  'StoreCluster',
  'StatefulSet',
  'PodDisruptionBudget',
  'NetworkPolicy',
  'PodMonitor',
])

const READ_BY_NAME = [
  { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' },
  { apiVersion: 'apps/v1', kind: 'ControllerRevision', plural: 'controllerrevisions' },
]

export const OPERATOR_KINDS: readonly FakeKind[] = [...WATCHED_KINDS, ...READ_BY_NAME].map(
  (watched) => ({ ...resourceKindOf(watched), hasStatus: COUNTED.has(watched.kind) }),
)

export function fakeKind(name: string): FakeKind {
  const found = OPERATOR_KINDS.find(({ kind }) => kind === name)
  if (found === undefined) throw new RangeError(`the operator touches no ${name}`)
  return found
}
