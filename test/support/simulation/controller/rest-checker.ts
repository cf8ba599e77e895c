import { must } from '../../../../lib/assert.ts'
import { MOVE_PREFIX } from '../../../../node/controller/core/records/cluster-codec.ts'
import {
  isBelowMinimum,
  type ShardConfiguration,
} from '../../../../node/replication/core/configuration.ts'
import { BrokenInvariant } from '../replication-checker.ts'
import { storedConfiguration } from './controller-checker.ts'
import { CATALOG_PREFIX } from './simulated-controller.ts'
import type { SimulatedNode, SimulatedNodes } from './simulated-nodes.ts'
import type { SimulatedShards } from './simulated-shards.ts'
import type { SimulatedStore } from './simulated-store.ts'

export interface RestingCluster {
  readonly store: SimulatedStore
  readonly nodes: SimulatedNodes
  readonly shards: SimulatedShards
  readonly tables: ReadonlyMap<
    string,
    { readonly replicationFactor: number; readonly minInSync: number }
  >
}

/** What a cluster has to be when nothing is planned any more. Throws BrokenInvariant. */
export function checkRest(cluster: RestingCluster): void {
  const { store, nodes, shards } = cluster
  const serving = [...nodes.all.values()].filter(
    ({ state, isRunning }) => isRunning && state === 'serving',
  )
  for (const [key, { value }] of store.list(MOVE_PREFIX)) {
    const configuration = storedConfiguration(store, key.slice(MOVE_PREFIX.length))
    const move = Buffer.from(value).toString()
    const alive = serving.map(({ id, incarnation }) => `${id}/${incarnation}`).join(' ')
    throw new BrokenInvariant(
      `C11: ${key} did not end: ${move} ${JSON.stringify(configuration)}; serving: ${alive}`,
    )
  }
  const paths = [...store.list(CATALOG_PREFIX)].map(([key]) => key.slice(CATALOG_PREFIX.length))
  for (const path of shards.all.keys()) {
    if (!paths.includes(path)) throw new BrokenInvariant(`C12: ${path} was dropped and is there`)
  }
  if (serving.length === 0) return
  for (const path of paths) checkShard(path, serving, cluster)
  checkLeaders(paths, serving, cluster)
}

/** C16: it leads only what nobody else can lead. */
export function checkHandedOver({ store, nodes }: RestingCluster, held: SimulatedNode): void {
  for (const [key] of store.list(CATALOG_PREFIX)) {
    const path = key.slice(CATALOG_PREFIX.length)
    const { leader, inSync = [] } = storedConfiguration(store, path) ?? {}
    if (leader?.node !== held.id) continue
    const other = inSync.find(({ node, incarnation }) => {
      const isFree = node !== held.id && nodes.all.get(node)?.state === 'serving'
      return isFree && !nodes.isHeld(node) && nodes.lives(node, incarnation)
    })
    if (other === undefined) continue
    throw new BrokenInvariant(`C16: ${held.id} is held and leads ${path}, as ${other.node} could`)
  }
}

/** C13: as many replicas as wanted or possible, all in sync, in as many zones as possible. */
function checkShard(
  path: string,
  serving: readonly SimulatedNode[],
  cluster: RestingCluster,
): void {
  const { store, nodes, tables } = cluster
  const configuration = storedConfiguration(store, path)
  if (configuration === undefined) throw new BrokenInvariant(`C13: ${path} has no replicas`)
  const wanted = must(tables.get(path.split('/')[0] ?? ''), 'the table of a shard')
  const { replicas, leader, inSync, minInSync } = configuration
  const isLed = leader !== undefined && nodes.lives(leader.node, leader.incarnation)
  const isMinimum = minInSync === wanted.minInSync || inSync.length < wanted.minInSync
  const broken = [
    ...(isLed ? [] : ['no leader']),
    ...(isMinimum ? [] : ['another minimum']),
    ...faultsOfReplicas(configuration, serving, wanted.replicationFactor),
  ]
  if (broken.length === 0) return
  const ids = serving.map(({ id, zone }) => `${id} in ${zone}`)
  const state = `${JSON.stringify(configuration)}; serving: ${ids.join(', ')}`
  throw new BrokenInvariant(
    `C13: ${path} with ${replicas.length} replicas has ${broken.join(', ')}: ${state}`,
  )
}

function faultsOfReplicas(
  { replicas, inSync }: ShardConfiguration,
  serving: readonly SimulatedNode[],
  factor: number,
): readonly string[] {
  const count = Math.min(factor, serving.length)
  const fit = serving.filter(({ id }) => replicas.includes(id))
  const zones = new Set(serving.map(({ zone }) => zone)).size
  const ownZones = new Set(fit.map(({ zone }) => zone)).size
  const isFull = count === factor
  return [
    ...(fit.length === count ? [] : [`${fit.length} of ${count} that serve`]),
    ...(isFull && replicas.length > count ? ['too many'] : []),
    ...(fit.every(({ id }) => inSync.some(({ node }) => node === id)) ? [] : ['some out of sync']),
    ...(isFull && ownZones < Math.min(zones, count) ? ['too few zones'] : []),
  ]
}

/** C14: no leadership can be passed on, over any way, from a node to one that leads two fewer. */
function checkLeaders(
  paths: readonly string[],
  serving: readonly SimulatedNode[],
  { store }: RestingCluster,
): void {
  const led = new Map(serving.map(({ id }) => [id, 0]))
  const ways = new Map(serving.map(({ id }) => [id, new Set<string>()]))
  for (const path of paths) {
    const configuration = must(storedConfiguration(store, path), 'a configuration')
    const leader = configuration.leader?.node ?? ''
    const from = ways.get(leader)
    if (from === undefined) continue
    led.set(leader, (led.get(leader) ?? 0) + 1)
    if (isBelowMinimum(configuration)) continue
    for (const { node } of configuration.inSync) if (led.has(node)) from.add(node)
  }
  const mean = paths.length / led.size
  for (const [node, count] of led) {
    if (count > Math.ceil(mean * 1.1)) checkSurplus([node, count], led, ways)
  }
}

function checkSurplus(
  [from, count]: readonly [string, number],
  led: ReadonlyMap<string, number>,
  ways: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  const reached = new Set([from])
  for (const node of reached) for (const next of ways.get(node) ?? []) reached.add(next)
  const lighter = [...reached].find((node) => (led.get(node) ?? 0) <= count - 2)
  if (lighter === undefined) return
  const counts = JSON.stringify([...led])
  throw new BrokenInvariant(`C14: ${from} could pass a leadership on to ${lighter}: ${counts}`)
}
