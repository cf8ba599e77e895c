// Makes a control plane that was restored from a backup the newest again, from what nodes know.
//
// Invariants:
//   CPR1  Every epoch is above all that replicas have promised: no epoch is given out a second time.
//   CPR2  Nothing is decided before every member has reported, but for those that the operator leaves out.
//   CPR3  A shard keeps the newest configuration that a node knows. Nobody leads: the controller compares the
//         replicas first. Nothing is deleted.
//   CPR4  Of recoveries at once the one that began last decides all shards, and it alone ends: each step of an
//         earlier one has its own beginning as a condition. One that a killed process left behind is in nobody's way.

import { ServiceError } from '../../../lib/errors.ts'
import {
  CONFIGURATION_PREFIX,
  NODE_PREFIX,
  configurationKey,
  decodeConfiguration,
  decodeNode,
  encodeConfiguration,
  type ShardPath,
} from '../../controller/core/records/cluster-codec.ts'
import type { Change, Coordination } from '../../coordination/coordination.ts'
import type { NodeId, ShardConfiguration } from '../../replication/core/configuration.ts'
import {
  RECOVERED_KEY,
  REFUSING_PREFIX,
  REPORT_PREFIX,
  decodeRecovered,
  decodeRefusing,
  decodeReport,
  encodeRecovered,
  type RecoveryReport,
  type ReportedShard,
} from './recovery-records.ts'
import {
  OvertakenError,
  assertNotOvertaken,
  beginRecovery,
  seeLastRecovery,
  type RecoveryTurn,
  type SeenKey,
} from './recovery-turn.ts'

/** A commit has at most 128 changes. */
const DELETES_MAX = 100

/** What was decided for one shard. */
export interface RecoveredShard {
  readonly path: ShardPath
  readonly epoch: number
  /** The node whose configuration was the newest; undefined: the control plane's own. */
  readonly from: NodeId | undefined
  readonly replicas: readonly NodeId[]
  readonly inSync: readonly NodeId[]
}

/** What a recovery has done. */
export interface Recovery {
  readonly number: number
  readonly reported: readonly NodeId[]
  readonly shards: readonly RecoveredShard[]
  /** Nodes hold replicas of them, and the control plane does not know them any more. They stay on the disks. */
  readonly unknown: readonly ShardPath[]
}

/** How a recovery is made. */
export interface RecoveryOrder {
  readonly coordination: Coordination
  /** Under it the catalog has each shard's record. */
  readonly shardPrefix: string
  /** Members, by the beginnings of their ids, that are gone for good and cannot report. */
  readonly without: readonly string[]
}

/**
 * Whether a node refuses the control plane, and the number of the last recovery. If no node does, the number is that
 * of the recovery that ended the last refusal, or of a later one: it is read behind it.
 */
export async function findLastRecovery(
  coordination: Coordination,
): Promise<{ readonly number: number; readonly isRefused: boolean }> {
  const refusing = await coordination.list(REFUSING_PREFIX)
  const done = await coordination.get(RECOVERED_KEY)
  return { number: decodeRecovered(done?.value), isRefused: refusing.entries.length > 0 }
}

/**
 * Rejects with CONFLICT if members have not reported, or none has (CPR2), with `OvertakenError` if another recovery
 * takes its place (CPR4), and with UNAVAILABLE if the store does not answer: running it again is harmless.
 */
export async function recoverCluster(order: RecoveryOrder): Promise<Recovery> {
  const { coordination, shardPrefix } = order
  const before = await seeLastRecovery(coordination)
  const reports = await wholeReports(coordination)
  const reported = [...new Set(reports.map(({ node }) => node))]
  await assertAllReported(order, reports)
  const turn = await beginRecovery(coordination, before)
  const existing = await coordination.list(shardPrefix)
  const paths = new Set(existing.entries.map(({ key }) => key.slice(shardPrefix.length)))
  const stored = await storedConfigurations(coordination)
  const said = saidOfShards(reports)
  const shards: RecoveredShard[] = []
  for (const path of paths) {
    const decided = decide(path, stored.get(path), said.get(path) ?? [])
    if (decided === undefined) continue // it was never placed
    const isAsSeen = { key: configurationKey(path), modRevision: stored.get(path)?.revision ?? 0 }
    await write(coordination, decided, { turn, isAsSeen })
    const { from, configuration } = decided
    const { epoch, replicas, inSync } = configuration
    shards.push({ path, epoch, from, replicas, inSync: inSync.map(({ node }) => node) })
  }
  const unknown = [...said.keys()].filter((path) => !paths.has(path))
  const number = await finish(coordination, reports, turn)
  return { number, reported, shards, unknown }
}

/** Those of which every page is there: a node may have ended while it wrote them, and without the last nothing counts. */
async function wholeReports(coordination: Coordination): Promise<readonly RecoveryReport[]> {
  const refusing = await coordination.list(REFUSING_PREFIX)
  const pages = await coordination.list(REPORT_PREFIX)
  const reports = pages.entries.map(({ value }) => decodeReport(value))
  return refusing.entries.flatMap(({ key, value }) => {
    const own = reports.filter(({ node }) => node === key.slice(REFUSING_PREFIX.length))
    return own.length === decodeRefusing(value) ? own : []
  })
}

interface SaidOfShard extends Omit<ReportedShard, 'path'> {
  readonly node: NodeId
}

function saidOfShards(
  reports: readonly RecoveryReport[],
): ReadonlyMap<ShardPath, readonly SaidOfShard[]> {
  const said = new Map<ShardPath, SaidOfShard[]>()
  for (const { node, shards } of reports) {
    for (const { path, promised, configuration } of shards) {
      const of = said.get(path) ?? []
      of.push({ node, promised, configuration })
      said.set(path, of)
    }
  }
  return said
}

/** CPR2. */
async function assertAllReported(
  { coordination, without }: RecoveryOrder,
  reports: readonly RecoveryReport[],
): Promise<void> {
  if (reports.length === 0) {
    throw new ServiceError(
      'CONFLICT',
      'no node refuses this control plane; restart the nodes after etcd was restored, and run this again if they do',
    )
  }
  const { entries } = await coordination.list(NODE_PREFIX)
  const records = entries.map(({ value }) => decodeNode(value))
  const gone = new Set(
    records
      .filter(({ state }) => state === 'decommissioned' || state === 'forgotten')
      .map(({ id }) => id),
  )
  // Some may have joined after the backup: others know them as holders of replicas.
  const named = reports.flatMap(({ shards }) =>
    shards.flatMap(({ configuration }) => configuration.replicas),
  )
  const reported = new Set(reports.map(({ node }) => node))
  const missing = [...new Set([...records.map(({ id }) => id), ...named])]
    .filter((id) => !gone.has(id) && !reported.has(id))
    .filter((id) => !without.some((start) => start !== '' && id.startsWith(start)))
  if (missing.length === 0) return
  throw new ServiceError(
    'CONFLICT',
    `these nodes have not reported what they know: ${missing.join(', ')}; ` +
      'restart them, or name those that are gone for good with --without',
  )
}

async function storedConfigurations(
  coordination: Coordination,
): Promise<ReadonlyMap<ShardPath, ShardConfiguration>> {
  const { entries } = await coordination.list(CONFIGURATION_PREFIX)
  return new Map(
    entries.map(({ key, value, modRevision }) => [
      key.slice(CONFIGURATION_PREFIX.length),
      decodeConfiguration(value, modRevision),
    ]),
  )
}

interface Decided {
  readonly path: ShardPath
  readonly from: NodeId | undefined
  readonly configuration: Omit<ShardConfiguration, 'revision'>
}

/** CPR1, CPR3. Revisions of one history are compared within an epoch, for which there was one leader. */
function decide(
  path: ShardPath,
  stored: ShardConfiguration | undefined,
  said: readonly SaidOfShard[],
): Decided | undefined {
  let newest = stored
  let from: NodeId | undefined
  let epoch = stored?.epoch ?? 0
  for (const { node, promised, configuration } of said) {
    epoch = Math.max(epoch, promised, configuration.epoch)
    if (newest !== undefined && !isNewer(configuration, newest)) continue
    newest = configuration
    from = node
  }
  if (newest === undefined) return undefined
  const operation = `recovery/${epoch + 1}`
  return {
    path,
    from,
    configuration: { ...newest, epoch: epoch + 1, leader: undefined, operation },
  }
}

/** Whether a configuration came later than another one of the same shard and the same control plane. */
export function isNewer(one: ShardConfiguration, other: ShardConfiguration): boolean {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.revision > other.revision)
}

interface WriteConditions {
  readonly turn: RecoveryTurn
  readonly isAsSeen: SeenKey
}

async function write(
  coordination: Coordination,
  { path, configuration }: Decided,
  { turn, isAsSeen }: WriteConditions,
): Promise<void> {
  const value = encodeConfiguration(configuration)
  const outcome = await coordination.commit({
    when: [...turn.when, isAsSeen],
    changes: [{ type: 'put', key: configurationKey(path), value }],
  })
  if (outcome.kind === 'committed') return
  assertNotOvertaken(turn, outcome.entries)
  throw new ServiceError(
    'CONFLICT',
    `${path} has changed meanwhile: stop all nodes that serve, and run this again`,
  )
}

/**
 * Nodes wait for a number that is greater than that of each recovery that they have accepted. Nobody refuses the control
 * plane any more from that commit on; pages of reports that stay behind mean nothing.
 */
async function finish(
  coordination: Coordination,
  reports: readonly RecoveryReport[],
  turn: RecoveryTurn,
): Promise<number> {
  const numbers = reports.map(({ recovery }) => recovery)
  const number = Math.max(turn.last, ...numbers) + 1
  const refusing = await deletesOf(coordination, REFUSING_PREFIX)
  const last = refusing.splice(0, DELETES_MAX)
  for (const changes of partsOf(refusing)) {
    await commitIn(coordination, turn, changes)
  }
  const done = { type: 'put' as const, key: RECOVERED_KEY, value: encodeRecovered(number) }
  await commitIn(coordination, turn, [...last, done])
  for (const changes of partsOf(await deletesOf(coordination, REPORT_PREFIX))) {
    await coordination.commit({ when: [], changes })
  }
  return number
}

async function commitIn(
  coordination: Coordination,
  { when }: RecoveryTurn,
  changes: readonly Change[],
): Promise<void> {
  const outcome = await coordination.commit({ when, changes })
  if (outcome.kind === 'conflict') throw new OvertakenError()
}

async function deletesOf(coordination: Coordination, prefix: string): Promise<Change[]> {
  const { entries } = await coordination.list(prefix)
  return entries.map(({ key }) => ({ type: 'delete', key }))
}

function partsOf(changes: readonly Change[]): readonly (readonly Change[])[] {
  const count = Math.ceil(changes.length / DELETES_MAX)
  return Array.from({ length: count }, (_, part) =>
    changes.slice(part * DELETES_MAX, (part + 1) * DELETES_MAX),
  )
}
