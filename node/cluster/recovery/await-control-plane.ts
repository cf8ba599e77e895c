// A start goes no further while the control plane is older than what this node has seen of it: a store that was restored
// from a backup gives out epochs a second time, and would have good replicas removed.
//
// Invariants:
//   CPM1  Nothing of a control plane is believed that has a smaller revision than this node has seen, is another
//         store, lacks an epoch that a replica here has promised, lacks a registration of this node, or has an older
//         configuration of a shard than this node has seen. Those after the first two do not depend on the store's own
//         numbers, which a restore may raise.
//   CPM2  A refusal holds over restarts: other nodes may bring the revision ahead meanwhile. Only a recovery ends it.
//   CPM3  While another node refuses the control plane, nobody who starts believes it.
//   CPM4  A refusal is said of the control plane that was read, and not after a recovery has ended meanwhile: those who
//         start later would wait until the next one.

import type { Log } from '../../../lib/log.ts'
import { ownCommand } from '../../../lib/own-command.ts'
import {
  CONFIGURATION_PREFIX,
  IDENTITY_KEY,
  decodeConfiguration,
  decodeIdentity,
  decodeNode,
  nodeKey,
} from '../../controller/core/records/cluster-codec.ts'
import type { Change, Coordination, CoordinationListing } from '../../coordination/coordination.ts'
import type { NodeIdentity } from '../node-identity.ts'
import { untilAnswered, type Waiting } from '../until-answered.ts'
import type { ControlPlaneMemory } from './control-plane-memory.ts'
import { isNewer } from './control-plane-recovery.ts'
import {
  RECOVERED_KEY,
  REFUSING_PREFIX,
  REPORT_PREFIX,
  SHARDS_PER_PAGE,
  decodeRecovered,
  encodeRefusing,
  encodeReport,
  type ReportedShard,
} from './recovery-records.ts'

const POLL_MS = 1000
const OLDER = 'the control plane is older than what this node has seen: this start waits'
const OTHERS = 'another node has seen a newer one'
const wayOut = (): string =>
  `restart all nodes of the cluster, so that each reports what it knows, and then run "${ownCommand('cluster recover')}"`

/** What a start knows before it believes the control plane. */
export interface KnownHere {
  readonly coordination: Coordination
  readonly memory: ControlPlaneMemory
  readonly identity: NodeIdentity
  /** The greatest epoch that the replica of this shard has promised; 0 if there is none. */
  readonly promisedOf: (shardId: string) => number
  /** Called once, when the start begins to wait because the control plane is older. */
  readonly onRefused?: () => Promise<void>
}

/** Resolves when the control plane may be believed. Until then it has reported to it what this node knows. */
export async function awaitControlPlane(known: KnownHere, waiting: Waiting): Promise<void> {
  const { memory } = known
  const { log, clock, signal } = waiting
  let hasReported = false
  for (;;) {
    const now = await untilAnswered(() => readControlPlane(known), waiting)
    if (now === undefined) return // the store of another cluster, or an empty one: the join refuses it
    const own = memory.seen.refusal || (await findRefusal(known, now))
    const refusal = own || othersRefusal(now)
    const { revision, store = '' } = now.listing
    const seen = { revision, store, recovery: now.recovered }
    if (refusal === '') return memory.see(seen)
    if (isRecovered(known, own, now)) {
      await memory.accept(seen)
      log.warn('the control plane was recovered, and this node accepts it', { was: refusal })
      return
    }
    if (own !== '') await memory.refuse(own)
    // Once in each life, which may know more; and again if a recovery that did not come to its end has removed it.
    if (!hasReported || !now.isReported) await untilAnswered(() => report(known, now), waiting)
    if (!hasReported) await beginWait(known, refusal, log)
    hasReported = true
    await clock.sleep(POLL_MS, signal)
  }
}

/**
 * Who waits for others alone (CPM3) waits until none of them refuses: it may never have accepted a recovery, and would take
 * one of long ago for that of today.
 */
function isRecovered({ memory }: KnownHere, own: string, { recovered }: ControlPlane): boolean {
  return own !== '' && recovered > memory.seen.recovery
}

async function beginWait({ onRefused }: KnownHere, reason: string, log: Log): Promise<void> {
  log.error(OLDER, { reason, remedy: wayOut() })
  await onRefused?.()
}

/** CPM3. */
function othersRefusal({ isRefused }: ControlPlane): string {
  return isRefused ? OTHERS : ''
}

interface ControlPlane {
  readonly listing: CoordinationListing
  /** The greatest incarnation with which this node registered, as the control plane knows. */
  readonly registered: number
  readonly recovered: number
  /** The revision of the record of the last recovery; 0 if there was no recovery. */
  readonly recoveredRevision: number
  /** Whether a node has said that it refuses the control plane. */
  readonly isRefused: boolean
  /** Whether this node has, with all pages of its report. */
  readonly isReported: boolean
}

/** Undefined if it does not have this node's cluster. */
async function readControlPlane(known: KnownHere): Promise<ControlPlane | undefined> {
  const { coordination, identity } = known
  const found = await coordination.get(IDENTITY_KEY)
  const ours = identity.cluster
  if (ours !== undefined && (found === undefined || decodeIdentity(found.value).id !== ours.id)) {
    return undefined
  }
  const record = await coordination.get(nodeKey(identity.nodeId))
  // In this order: where a recovery has removed the refusals, its number is seen.
  const refusing = (await coordination.list(REFUSING_PREFIX)).entries.map(({ key }) => key)
  const done = await coordination.get(RECOVERED_KEY)
  return {
    registered: record === undefined ? 0 : decodeNode(record.value).incarnation,
    recovered: decodeRecovered(done?.value),
    recoveredRevision: done?.modRevision ?? 0,
    isRefused: refusing.length > 0,
    isReported: refusing.includes(REFUSING_PREFIX + identity.nodeId),
    // The last, so that its revision is the greatest.
    listing: await coordination.list(CONFIGURATION_PREFIX),
  }
}

/** CPM1. Empty if there is none. */
async function findRefusal({ memory, promisedOf }: KnownHere, now: ControlPlane): Promise<string> {
  const { seen } = memory
  const { revision, store, entries } = now.listing
  if (revision < seen.revision) {
    return `its revision is ${revision}, and this node has seen ${seen.revision}`
  }
  if (store !== undefined && seen.store !== '' && store !== seen.store) {
    return `it is the store ${store}, and this node has seen ${seen.store}`
  }
  if (now.registered < seen.registered) {
    return `it has seen life ${now.registered} of this node, which has registered as ${seen.registered}`
  }
  const remembered = await memory.configurations()
  for (const { key, value, modRevision } of entries) {
    const stored = decodeConfiguration(value, modRevision)
    const path = key.slice(CONFIGURATION_PREFIX.length)
    const promised = promisedOf(key.slice(key.lastIndexOf('/') + 1))
    if (promised > stored.epoch) {
      return `the epoch of ${path} is ${stored.epoch}, and this node has promised ${promised}`
    }
    const known = remembered.get(path)
    if (known === undefined || !isNewer(known, stored)) continue
    const [was, is] = [known, stored].map(
      ({ epoch, revision: changed }) => `epoch ${epoch} at revision ${changed}`,
    )
    return `the configuration of ${path} is of ${is}, and this node has seen that of ${was}`
  }
  return ''
}

async function report(known: KnownHere, { recoveredRevision }: ControlPlane): Promise<void> {
  const { coordination, memory, identity, promisedOf } = known
  const { nodeId: node } = identity
  const shards: ReportedShard[] = []
  for (const [path, configuration] of await memory.configurations()) {
    const promised = promisedOf(path.slice(path.lastIndexOf('/') + 1))
    shards.push({ path, promised, configuration })
  }
  const { revision, recovery } = memory.seen
  const old = await coordination.list(`${REPORT_PREFIX}${node}/`)
  const pages = Math.max(1, Math.ceil(shards.length / SHARDS_PER_PAGE))
  for (let page = 0; page < pages; page++) {
    const some = shards.slice(page * SHARDS_PER_PAGE, (page + 1) * SHARDS_PER_PAGE)
    const value = encodeReport({ node, revision, recovery, shards: some })
    await put(coordination, { type: 'put', key: pageKey(node, page), value })
  }
  const kept = new Set(Array.from({ length: pages }, (_, page) => pageKey(node, page)))
  for (const { key } of old.entries) {
    if (!kept.has(key)) await put(coordination, { type: 'delete', key })
  }
  // CPM4
  await coordination.commit({
    when: [{ key: RECOVERED_KEY, modRevision: recoveredRevision }],
    changes: [{ type: 'put', key: REFUSING_PREFIX + node, value: encodeRefusing(pages) }],
  })
}

function pageKey(node: string, page: number): string {
  return `${REPORT_PREFIX}${node}/${page}`
}

async function put(coordination: Coordination, change: Change): Promise<void> {
  await coordination.commit({ when: [], changes: [change] })
}
