// What a cluster has to come to when everything is healed (D23), and what its disks hold then.

import type { ShardConfiguration } from '../../../../node/replication/core/configuration.ts'
import { jsonOf, versionOf } from '../../../../node/shard/format/document-record.ts'
import { keyspaceRange } from '../../../../node/shard/format/keyspace.ts'
import type { LocalShard } from '../../../../node/shard/local-shard.ts'
import type { ShardId } from '../../../../node/shard/shard-id.ts'
import { BrokenInvariant } from '../replication-checker.ts'
import { TABLE } from './asked-node.ts'
import type { InstalledVersion } from './cluster-history.ts'
import type { SimulatedNode } from './simulated-node.ts'

/** A shard with its replicas that are open. */
interface RestingShard {
  readonly id: ShardId
  readonly configuration: ShardConfiguration | undefined
  readonly replicas: readonly LocalShard[]
}

/** Why the cluster is not at rest; undefined when it is. Each shard is led, whole, and holds no key. */
export function unrestOf(nodes: readonly SimulatedNode[]): string | undefined {
  const down = nodes.find(({ store }) => store?.ready() !== true)
  if (down !== undefined) return `${down.id} does not serve`
  const burying = nodes.find(({ life }) => life?.dropped?.tombstones !== 0)
  if (burying !== undefined) return `${burying.id} knows tombstones`
  const shards = shardsOf(nodes)
  if (shards.length === 0) return 'no table is open'
  const wanted = Math.min(3, nodes.length)
  for (const shard of shards) {
    const unrest = unrestOfShard(shard, wanted)
    if (unrest !== undefined) return `shard ${shard.id} ${unrest}`
  }
  return undefined
}

function unrestOfShard(
  { configuration, replicas }: RestingShard,
  wanted: number,
): string | undefined {
  if (configuration?.leader === undefined) return 'has no leader'
  const { inSync } = configuration
  if (inSync.length < wanted) return `has in sync ${JSON.stringify(inSync)}`
  const leading = replicas.filter(({ replicated }) => replicated?.isServing === true)
  const [leader] = leading
  if (leader === undefined || leading.length > 1) return `is served ${leading.length} times`
  if (leader.led.heldKeys > 0) return `holds ${leader.led.heldKeys} keys`
  const placed = new Set(configuration.replicas).size
  if (replicas.length !== placed) return `has ${replicas.length} replicas instead of ${placed}`
  const behind = replicas.find((one) => one.appliedSequence < leader.committedSequence)
  return behind === undefined ? undefined : `has a replica at ${behind.appliedSequence}`
}

/** INV-R7: replicas of one shard have the same bytes. */
export async function checkReplicasEqual(nodes: readonly SimulatedNode[]): Promise<void> {
  for (const { id, replicas } of shardsOf(nodes)) {
    const contents = await Promise.all(replicas.map(contentOf))
    const [first] = contents
    if (contents.some((content) => content !== first)) {
      throw new BrokenInvariant(`R7: the replicas of shard ${id} differ`)
    }
  }
}

/** All versions of the cells that the disks hold. */
export async function installedCells(
  nodes: readonly SimulatedNode[],
  cells: readonly string[],
): Promise<readonly InstalledVersion[]> {
  const installed: InstalledVersion[] = []
  for (const { replicas } of shardsOf(nodes)) {
    for (const replica of replicas.slice(0, 1)) installed.push(...(await cellsOf(replica, cells)))
  }
  return installed
}

async function cellsOf(
  { store }: LocalShard,
  cells: readonly string[],
): Promise<readonly InstalledVersion[]> {
  const pages = [
    ...(await Array.fromAsync(store.pages(keyspaceRange('documents')))),
    ...(await Array.fromAsync(store.pages(keyspaceRange('history')))),
  ]
  return pages.flat().flatMap(([stored, record]) => {
    const key = cells.find((cell) => stored.includes(cell))
    if (key === undefined) return []
    const { by } = JSON.parse(jsonOf(record).toString())
    return [{ key, version: versionOf(record), value: String(by) }]
  })
}

/** The shards of all tables, by the map of any node. */
export function shardsOf(nodes: readonly SimulatedNode[]): readonly RestingShard[] {
  const lives = nodes.flatMap(({ life }) => life ?? [])
  const known = lives.find(({ opened }) => opened?.registry.find(TABLE) !== undefined)
  const tables = known?.opened?.registry.tables() ?? []
  return tables
    .flatMap(({ shards }) => shards)
    .map(({ id }) => {
      const path = known?.map?.pathOf(id)
      const configuration = path === undefined ? undefined : known?.map?.configurationOf(path)
      return { id, configuration, replicas: lives.flatMap(({ host }) => host?.find(id) ?? []) }
    })
}

async function contentOf({ store }: LocalShard): Promise<string> {
  const rows: string[] = []
  for await (const page of store.pages({})) {
    for (const [key, value] of page) rows.push(`${key.toString('hex')}=${value.toString('hex')}`)
  }
  return rows.join('\n')
}
