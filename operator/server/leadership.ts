// Which process may write: the holder of the Lease, or the only one.

import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import type { ResourceKind } from '../runtime/api/api-object.ts'
import type { KubernetesApi } from '../runtime/api/kubernetes-api.ts'
import { LeaderElection } from '../runtime/election/leader-election.ts'

const LEASES: ResourceKind = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
}

/** What the operator needs of an election. */
export type Leadership = Pick<LeaderElection, 'won' | 'lost' | 'isLeading' | 'start' | 'release'>

/** Who stands for election. */
export interface Candidate {
  readonly config: { readonly leaseName: string; readonly podNamespace: string }
  readonly identity: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** Without the name of a Lease there is no election, and two processes would both write. */
export function openLeadership(
  api: KubernetesApi,
  { config, identity, clock, random, log }: Candidate,
): Leadership {
  const { leaseName: name, podNamespace: namespace } = config
  if (name === '') return new OnlyOne()
  const lease = { kind: LEASES, namespace, name }
  return new LeaderElection({ api, clock, random, log, lease, identity })
}

class OnlyOne implements Leadership {
  readonly won = Promise.resolve()
  readonly lost = Promise.withResolvers<string>().promise
  #isReleased = false

  isLeading(): boolean {
    return !this.#isReleased
  }

  start(): void {}

  async release(): Promise<void> {
    this.#isReleased = true
  }
}
