// Random transactions over a few keys, recorded so that test/support/checkers/serializability.ts can judge them. What
// became visible is read from the disk at the end: every version of a key with the value it had.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { ServiceError } from '../../../lib/errors.ts'
import type { Random } from '../../../lib/random.ts'
import type { WriteOptions } from '../../../node/transactions/write-options.ts'
import type { ShardedStore } from '../../../node/store/sharded-store.ts'
import { jsonOf, versionOf } from '../../../node/shard/format/document-record.ts'
import type { Access, History, HistoryTransaction } from '../checkers/serializability.ts'
import {
  documentOf,
  fieldOf,
  insert,
  PROPOSE,
  tableContent,
  WRITE,
  writesOf,
  type SwarmHarness,
} from '../servers/swarm-harness.ts'
import { PLACES, type Place } from './places.ts'

interface Read {
  readonly place: Place
  /** Undefined for a scan, which does not tell versions: the value names it. */
  readonly version: bigint | undefined
  readonly value: string | undefined
}

interface Recorded {
  readonly id: string
  readonly reads: readonly Read[]
  readonly writes: readonly Place[]
  readonly outcome: 'committed' | 'aborted'
  /** Places in the one order in which the test saw things begin and end. */
  readonly beganAt: number
  readonly endedAt: number
}

export interface RecordedHistory {
  readonly history: History
  readonly transactions: readonly Recorded[]
  /** Reads that missed what was acknowledged before they began. */
  readonly staleReads: readonly string[]
}

export async function createWorkloadTables({ store }: SwarmHarness): Promise<void> {
  await store.createTable('alpha', { split_keys: ['g', 'n', 't'] })
  await store.createTable('beta', { split_keys: ['m'] })
}

export async function runWorkload(
  harness: SwarmHarness,
  options: { readonly clients: number; readonly perClient: number; readonly random: Random },
): Promise<RecordedHistory> {
  const workload = new Workload(harness.store, options.random)
  const clients = Array.from({ length: options.clients }, async (_, client) => {
    for (let i = 0; i < options.perClient; i++) await workload.transact(`t${client}-${i}`)
  })
  await Promise.all(clients)
  // Unresolved commits are still intents; a reader of each key does not mind, but the disk shows less.
  while ((await harness.entries('intents')).length > 0) await nextTurn()
  const installed = await installedVersions(harness)
  return {
    transactions: workload.recorded,
    history: historyOf(workload.recorded, installed),
    staleReads: staleReadsOf(workload.recorded, installed),
  }
}

class Workload {
  readonly recorded: Recorded[] = []
  readonly #store: ShardedStore
  readonly #random: Random
  #now = 0

  constructor(store: ShardedStore, random: Random) {
    this.#store = store
    this.#random = random
  }

  async transact(id: string): Promise<void> {
    const dice = this.#random()
    if (dice < 0.1) await this.#scan(id)
    else if (dice < 0.2) await this.#occ(id, 0)
    else if (dice < 0.65) await this.#occ(id, 1 + this.#pick(2))
    else await this.#blind(id, 1 + this.#pick(3))
  }

  async #scan(id: string): Promise<void> {
    const beganAt = this.#now++
    const content = await tableContent(this.#store, 'alpha')
    const reads = PLACES.filter(([table]) => table === 'alpha').map((place): Read => {
      return { place, version: undefined, value: writerIn(content[place[1]]) }
    })
    this.#record({ id, reads, writes: [], outcome: 'committed', beganAt })
  }

  async #occ(id: string, writeCount: number): Promise<void> {
    const beganAt = this.#now++
    const reads: Read[] = []
    for (const place of this.#somePlaces(1 + this.#pick(4))) {
      const found = await documentOf(this.#store, ...place)
      const value = writerIn(found?.value)
      reads.push({ place, version: found?.version ?? 0n, value })
      if (this.#random() < 0.3) await nextTurn()
    }
    const writes = this.#somePlaces(writeCount)
    const claims = reads.map(({ place: [table, key], version = 0n }) => ({
      table,
      key: Buffer.from(key),
      version,
    }))
    const result = await this.#store.commit(claims, this.#writesOf(id, writes), this.#level())
    this.#record({ id, reads, writes, outcome: result.status, beganAt })
  }

  async #blind(id: string, writeCount: number): Promise<void> {
    const beganAt = this.#now++
    const writes = this.#somePlaces(writeCount)
    try {
      await this.#store.crossBatch(this.#writesOf(id, writes), this.#level())
      this.#record({ id, reads: [], writes, outcome: 'committed', beganAt })
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'CONFLICT')) throw error
      this.#record({ id, reads: [], writes, outcome: 'aborted', beganAt })
    }
  }

  #writesOf(id: string, places: readonly Place[]) {
    const byTable = Map.groupBy(places, ([table]) => table)
    return [...byTable].map(([table, keys]) =>
      writesOf(table, { inserts: keys.map(([, key]) => insert(key, { by: id })) }),
    )
  }

  #record(transaction: Omit<Recorded, 'endedAt'>): void {
    this.recorded.push({ ...transaction, endedAt: this.#now++ })
  }

  #somePlaces(count: number): readonly Place[] {
    const rest = [...PLACES]
    return Array.from({ length: count }, () => rest.splice(this.#pick(rest.length), 1)).flat()
  }

  #level(): WriteOptions {
    return this.#random() < 0.5 ? WRITE : PROPOSE
  }

  #pick(below: number): number {
    return Math.floor(this.#random() * below)
  }
}

function writerIn(document: unknown): string | undefined {
  const writer = fieldOf(document, 'by')
  return typeof writer === 'string' ? writer : undefined
}

interface Version {
  readonly version: bigint
  readonly writer: string
}

/** From the newest documents and from history: by key, in no order. */
async function installedVersions(
  harness: SwarmHarness,
): Promise<ReadonlyMap<string, readonly Version[]>> {
  const byKey = new Map<string, Version[]>()
  const stored = [...(await harness.entries('documents')), ...(await harness.entries('history'))]
  for (const [storedKey, record] of stored) {
    const key = PLACES.map(([, one]) => one).find((one) => storedKey.includes(one, 1))
    if (key === undefined) continue
    const writer = String(writerIn(JSON.parse(jsonOf(record).toString())))
    byKey.set(key, [...(byKey.get(key) ?? []), { version: versionOf(record), writer }])
  }
  return byKey
}

function historyOf(
  recorded: readonly Recorded[],
  installed: ReadonlyMap<string, readonly Version[]>,
): History {
  const writes = new Map<string, Access[]>()
  for (const [key, versions] of installed) {
    for (const { version, writer } of versions) {
      writes.set(writer, [...(writes.get(writer) ?? []), { key, version, value: writer }])
    }
  }
  const isVisible = ({ id, outcome }: Recorded): boolean =>
    outcome === 'committed' || writes.has(id)
  const committed = recorded.filter(isVisible).map(({ id, reads }): HistoryTransaction => {
    return {
      id,
      reads: reads.map((read) => accessOf(read, installed)),
      writes: writes.get(id) ?? [],
    }
  })
  const aborted = recorded.filter((one) => !isVisible(one)).map(({ id }) => id)
  return { committed, abortedValues: new Set(aborted) }
}

function accessOf(
  { place: [, key], version, value }: Read,
  installed: ReadonlyMap<string, readonly Version[]>,
): Access {
  const known = installed.get(key)?.find(({ writer }) => writer === value)
  return { key, value, version: version ?? known?.version ?? 0n }
}

/** Real-time order of each key: a read sees at least what was acknowledged before it began. */
function staleReadsOf(
  recorded: readonly Recorded[],
  installed: ReadonlyMap<string, readonly Version[]>,
): readonly string[] {
  return PLACES.flatMap(([, key]) => {
    const versionBy = new Map(installed.get(key)?.map(({ writer, version }) => [writer, version]))
    const acknowledged = recorded
      .filter(({ id, outcome }) => outcome === 'committed' && versionBy.has(id))
      .toSorted((a, b) => a.endedAt - b.endedAt)
    const stale: string[] = []
    for (const { id, reads, beganAt } of recorded) {
      const read = reads.find(({ place }) => place[1] === key)
      if (read === undefined) continue
      const seen = accessOf(read, installed).version
      for (const write of acknowledged) {
        if (write.endedAt > beganAt) break
        if ((versionBy.get(write.id) ?? 0n) > seen) stale.push(`${id} missed ${write.id} of ${key}`)
      }
    }
    return stale
  })
}
