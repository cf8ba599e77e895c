// The kinds that tests of the runtime use.

import type { FakeKind } from './fake-store.ts'

/** A kind without status and generation. */
export const CONFIG_MAPS: FakeKind = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
  hasStatus: false,
}

/** A kind of the tests' own, with a status: its CRD is `WIDGET_DEFINITION`. */
export const WIDGETS: FakeKind = {
  group: 'tests.quarry.dev',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
  hasStatus: true,
}

export const LEASES: FakeKind = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
  hasStatus: false,
}

export const EVENTS: FakeKind = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
  hasStatus: false,
}

export const ALL_KINDS: readonly FakeKind[] = [CONFIG_MAPS, WIDGETS, LEASES, EVENTS]
