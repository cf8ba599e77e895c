// A cluster whose node n1 led every shard and is gone, over any coordination store, and the elected controller that
// has to name other leaders. Replicas are entries of the store alone.

import { must } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import {
  CONFIGURATION_PREFIX,
  CONTROLLER_KEY,
  configurationKey,
  decodeConfiguration,
  encodeConfiguration,
  encodeNode,
  encodeRegistration,
  liveKey,
  nodeKey,
} from '../../../node/controller/core/records/cluster-codec.ts'
import { ElectedController } from '../../../node/controller/shell/elected-controller.ts'
import type {
  Change,
  Commit,
  CommitOutcome,
  Coordination,
} from '../../../node/coordination/coordination.ts'
import type { ShardConfiguration } from '../../../node/replication/core/configuration.ts'
import { createTable, TEST_CATALOG } from './stub-node.ts'

const NODES = ['n1', 'n2', 'n3']
const CHANGES_PER_COMMIT = 100

/** What happened to the commits of the controller. */
export interface SeenCommit {
  readonly commit: Commit
  readonly outcome: CommitOutcome
}

export class LostLeader {
  readonly commits: SeenCommit[] = []
  /** Happens before each commit of the controller. */
  beforeCommit: (commit: Commit) => Promise<void> = async () => undefined
  readonly coordination: Coordination
  readonly #clock: Clock

  private constructor(coordination: Coordination, clock: Clock) {
    this.coordination = coordination
    this.#clock = clock
  }

  static async begin(
    coordination: Coordination,
    { clock, shards }: { readonly clock: Clock; readonly shards: number },
  ): Promise<LostLeader> {
    const world = new LostLeader(coordination, clock)
    await createTable(coordination, 't', shards)
    const nodes = NODES.flatMap((id) => world.#joined(id))
    const configurations = Array.from({ length: shards }, (_, at) => ledByLost(`t/s${at}`))
    const controller: Change = { type: 'put', key: CONTROLLER_KEY, value: Buffer.from('c') }
    const all = [...nodes, ...configurations, controller]
    for (let at = 0; at < all.length; at += CHANGES_PER_COMMIT) {
      await coordination.commit({ when: [], changes: all.slice(at, at + CHANGES_PER_COMMIT) })
    }
    return world
  }

  /** Lets the controller work until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const entry = must(await this.coordination.get(CONTROLLER_KEY), 'the key of the controller')
    const token = entry.createRevision
    const controller = new ElectedController({
      coordination: this.#watched(),
      leadership: {
        token,
        value: entry.value,
        fence: { key: CONTROLLER_KEY, createRevision: token },
        lost: new AbortController().signal,
        proclaim: async () => undefined,
        resign: async () => undefined,
      },
      node: 'n2',
      catalog: TEST_CATALOG,
      askEnds: async () => ({ incarnation: 1, ends: [] }),
      clock: this.#clock,
      log: silentLog,
    })
    await controller.run(signal)
    await controller.settled()
  }

  /** The leaders in the store, by the paths of their shards. */
  async leaders(): Promise<ReadonlyMap<string, ShardConfiguration>> {
    const { entries } = await this.coordination.list(CONFIGURATION_PREFIX)
    return new Map(
      entries.map(({ key, value, modRevision }) => [
        key.slice(CONFIGURATION_PREFIX.length),
        decodeConfiguration(value, modRevision),
      ]),
    )
  }

  #joined(id: string): readonly Change[] {
    const addresses = { peer: '', api: '' }
    const record = { id, zone: id, state: 'serving' as const, incarnation: 1, operation: 'o' }
    const life = { id, incarnation: 1, addresses, version: '1', wholeSince: 1, isLeaving: false }
    const joined: Change = { type: 'put', key: nodeKey(id), value: encodeNode(record) }
    if (id === 'n1') return [joined]
    return [joined, { type: 'put', key: liveKey(id), value: encodeRegistration(life) }]
  }

  #watched(): Coordination {
    const { coordination } = this
    return new Proxy(coordination, {
      get: (target, name) => {
        if (name === 'commit') return (commit: Commit) => this.#commit(commit)
        const member: unknown = Reflect.get(target, name)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  }

  async #commit(commit: Commit): Promise<CommitOutcome> {
    await this.beforeCommit(commit)
    const outcome = await this.coordination.commit(commit)
    this.commits.push({ commit, outcome })
    return outcome
  }
}

function ledByLost(path: string): Change {
  const inSync = NODES.map((node) => ({ node, incarnation: 1 }))
  const value = encodeConfiguration({
    epoch: 1,
    leader: inSync[0],
    replicas: NODES,
    inSync,
    eligible: [],
    minInSync: 2,
    operation: 'o',
  })
  return { type: 'put', key: configurationKey(path), value }
}
