// A node of a cluster without shards: it is a member, sees the cluster and takes part in the election of the
// controller as a real one does. Its replicas hold nothing: a leader adds every learner that is there.

import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../../lib/clock.ts'
import { silentLog, type Log } from '../../../lib/log.ts'
import { ClusterMap } from '../../../node/cluster/cluster-map.ts'
import { joinCluster, type Membership } from '../../../node/cluster/membership.ts'
import { NodeIdentity } from '../../../node/cluster/node-identity.ts'
import type { ControllerSettings } from '../../../node/controller/core/view/controller-settings.ts'
import type { CatalogKeys } from '../../../node/controller/shell/cluster-feed.ts'
import { Controller } from '../../../node/controller/shell/controller.ts'
import type { Coordination } from '../../../node/coordination/coordination.ts'
import type { ReplicaId, ShardConfiguration } from '../../../node/replication/core/configuration.ts'

const LEAD_MS = 100

/** A catalog that is as simple as the controller allows. */
export const TEST_CATALOG: CatalogKeys = {
  tablePrefix: '/tables/',
  shardPrefix: '/table-shards/',
  readTable: ({ value }) => JSON.parse(value.toString()),
}

/** Puts a table with so many shards into the catalog, in commits of at most 100 changes. */
export async function createTable(
  coordination: Coordination,
  tableId: string,
  shards: number,
): Promise<void> {
  const table = { tableId, replication: { replicationFactor: 3, minInSync: 2 } }
  const value = Buffer.from(JSON.stringify(table))
  await coordination.commit({
    when: [],
    changes: [{ type: 'put', key: `/tables/${tableId}`, value }],
  })
  for (let at = 0; at < shards; at += 100) {
    const ids = Array.from({ length: Math.min(100, shards - at) }, (_, index) => `s${at + index}`)
    await coordination.commit({
      when: [],
      changes: ids.map((id) => ({
        type: 'put',
        key: `/table-shards/${tableId}/${id}`,
        value: Buffer.from('{}'),
      })),
    })
  }
}

export interface StubNodeOptions {
  readonly id: string
  readonly zone?: string
  /** Where other nodes reach it. Default: a host of its name. */
  readonly peer?: string
  readonly coordination: Coordination
  readonly clock: Clock
  /** Where the directories of nodes are. */
  readonly root: string
  readonly ttlSeconds: number
  readonly settings?: ControllerSettings
  readonly makeController?: (options: ConstructorParameters<typeof Controller>[0]) => Controller
  readonly log?: Log
}

export class StubNode {
  readonly id: string
  readonly coordination: Coordination
  readonly membership: Membership
  readonly map: ClusterMap
  readonly controller: Controller
  readonly #stopLeading: () => Promise<void>
  #changes = 0

  private constructor(
    { coordination, clock }: StubNodeOptions,
    parts: Pick<StubNode, 'membership' | 'map' | 'controller'>,
  ) {
    this.id = parts.membership.nodeId
    this.coordination = coordination
    this.membership = parts.membership
    this.map = parts.map
    this.controller = parts.controller
    this.#stopLeading = clock.every(LEAD_MS, () => this.#lead())
  }

  static async start(options: StubNodeOptions): Promise<StubNode> {
    const { id, zone = id, coordination, clock, root, ttlSeconds, settings } = options
    const { log = silentLog, peer = `${id}:1` } = options
    const directory = path.join(root, id)
    await mkdir(directory, { recursive: true })
    const never = new AbortController().signal
    const membership = await joinCluster(
      {
        coordination,
        identity: await NodeIdentity.open({ path: directory, id }),
        cluster: 'library',
        description: { zone, addresses: { peer, api: `${id}:2` }, version: '1' },
        ttlSeconds,
        clock,
        log,
        newClusterId: () => 'c1',
      },
      never,
    )
    const map = await ClusterMap.open({ coordination, clock, log }, never)
    const make = options.makeController ?? ((given) => new Controller(given))
    const controller = make({
      coordination,
      node: id,
      catalog: TEST_CATALOG,
      askEnds: async (node, paths) => ({
        incarnation: map.node(node)?.registration?.incarnation ?? 0,
        ends: paths.map((name) => ({ path: name, epoch: 1, sequence: 0 })),
      }),
      ...(settings && { settings }),
      frozenBy: () => (map.health.kind === 'frozen' ? map.health.reason : undefined),
      ttlSeconds,
      clock,
      log,
    })
    return new StubNode(options, { membership, map, controller })
  }

  /** The numbers of shards that it leads and holds, as it sees them. */
  get load(): { readonly leads: number; readonly holds: number } {
    const all = [...this.map.shards().values()]
    return {
      leads: all.filter(({ leader }) => leader?.node === this.id).length,
      holds: all.filter(({ replicas }) => replicas.includes(this.id)).length,
    }
  }

  /** A clean end: nothing of it stays but its record. */
  async stop(): Promise<void> {
    await this.#stopLeading()
    await this.controller.close()
    await this.map.close()
    await this.membership.close()
  }

  /** As a leader of the replication core changes its sets, with replicas that have everything at once. */
  async #lead(): Promise<void> {
    for (const [shard, configuration] of this.map.shards()) {
      const { leader, epoch, revision } = configuration
      if (leader?.node !== this.id || leader.incarnation !== this.membership.incarnation) continue
      const next = this.#nextChange(configuration)
      if (next === undefined) continue
      this.#changes += 1
      const operation = `${this.id}/${leader.incarnation}/${epoch}/${this.#changes}`
      const change = { ...next, operation, epoch, revision }
      await this.map.changeInSync(shard, change).catch(() => undefined) // tried again
    }
  }

  #nextChange({
    replicas,
    inSync,
  }: ShardConfiguration):
    { readonly kind: 'add' | 'remove'; readonly replica: ReplicaId } | undefined {
    const lives = (node: string): number | undefined => {
      return this.map.node(node)?.registration?.incarnation
    }
    const gone = inSync.find(({ node, incarnation }) => lives(node) !== incarnation)
    if (gone !== undefined && inSync.length > 1) return { kind: 'remove', replica: gone }
    for (const node of replicas) {
      const incarnation = lives(node)
      if (incarnation === undefined || inSync.some((member) => member.node === node)) continue
      return { kind: 'add', replica: { node, incarnation } }
    }
    return undefined
  }
}
