// One race for the names of a table's fields (field-race.ts), and what has to hold behind it.

import { expect } from 'chai'
import { systemClock } from '../../../lib/clock.ts'
import { seededRandom, type Random } from '../../../lib/random.ts'
import type { Coordination } from '../../../node/coordination/coordination.ts'
import { EmbeddedCoordination } from '../../../node/coordination/embedded-coordination.ts'
import { StoredTableFields } from '../../../node/catalog/records/stored-table-fields.ts'
import { nameOf, type TableField } from '../../../node/schema/table-field.ts'
import type { TableFields } from '../../../node/shard/following/table-fields.ts'
import { MemoryKvStore } from '../../../node/storage/memory-kv-store.ts'
import { fits, Killed, makeLog, newestOf, RacingReplica, type ShardLog } from './field-race.ts'

const SHARDS = 2
const REPLICAS_EACH = 2
const ENTRIES = 16
const TABLE = '00112233445566ff'
/** Names around the place where the list ends, and as many others. */
const PROBES = 120

/** What a planted defect puts in the place of a node's list of the table's fields. */
export type OpenFields = (coordination: Coordination, node: number) => TableFields

const openStored: OpenFields = (coordination) => new StoredTableFields(coordination, TABLE)

/** The list of a node whose process may end before or after each addition. */
class MortalFields implements TableFields {
  readonly #fields: TableFields
  readonly #random: Random

  constructor(fields: TableFields, random: Random) {
    this.#fields = fields
    this.#random = random
  }

  get known(): readonly TableField[] {
    return this.#fields.known
  }

  load(): Promise<void> {
    return this.#fields.load()
  }

  async propose(fields: readonly TableField[]): Promise<void> {
    this.#live()
    await this.#fields.propose(fields)
    this.#live()
  }

  onGrown(listener: () => void): () => void {
    return this.#fields.onGrown(listener)
  }

  #live(): void {
    if (this.#random() < 0.1) throw new Killed('the process was killed')
  }
}

/** How often each kind of fault came: a race without them shows nothing. */
export interface Race {
  readonly kills: number
  readonly rebuilds: number
  readonly names: number
}

/** Rejects with what went wrong. */
export async function raceForFields(seed: number, openFields = openStored): Promise<Race> {
  const random = seededRandom(seed)
  const coordination = new EmbeddedCoordination(new MemoryKvStore(), systemClock)
  const logs = Array.from({ length: SHARDS }, (_, shard) => makeLog(random, shard, ENTRIES))
  const replicas = logs.flatMap((log, shard) =>
    Array.from({ length: REPLICAS_EACH }, (_, at) => {
      const node = shard * REPLICAS_EACH + at
      return new RacingReplica(log, () => new MortalFields(openFields(coordination, node), random))
    }),
  )
  try {
    const run = new RaceRun(replicas, random)
    await run.toTheEnd()
    const list = openStored(coordination, -1)
    await list.load()
    for (const replica of replicas) await expectNamed(replica, list.known, random)
    run.expectBeginnings(list.known.map(nameOf))
    return { kills: run.kills, rebuilds: run.rebuilds, names: list.known.length }
  } finally {
    for (const replica of replicas) replica.close()
  }
}

class RaceRun {
  kills = 0
  rebuilds = 0
  readonly #replicas: readonly RacingReplica[]
  readonly #random: Random
  /** The last names of the lists that replicas have had, by the length of the list. */
  readonly #seen = new Map<number, Set<string>>()

  constructor(replicas: readonly RacingReplica[], random: Random) {
    this.#replicas = replicas
    this.#random = random
  }

  async toTheEnd(): Promise<void> {
    for (const replica of this.#replicas) await replica.open()
    while (!this.#replicas.every(({ isAtEnd }) => isAtEnd)) {
      const moving = this.#replicas.filter(() => this.#random() < 0.6)
      await Promise.all(moving.map((replica) => this.#move(replica)))
    }
    // Each pace of reading is a history of its own; so is a walk in the order of keys.
    for (const replica of this.#replicas) if (this.#random() < 0.3) await this.#rebuild(replica)
  }

  expectBeginnings(list: readonly string[]): void {
    for (const [length, lasts] of this.#seen) {
      expect([...lasts], `the names that were the last of ${length}`).to.deep.equal([
        list[length - 1],
      ])
    }
  }

  async #move(replica: RacingReplica): Promise<void> {
    const chance = this.#random()
    await this.#untilKilled(replica, async () => {
      await replica.follow(1 + Math.floor(this.#random() * 6))
      if (chance < 0.2) replica.flush()
      if (chance > 0.9) throw new Killed('the process was killed')
    })
    const { names } = replica
    const last = names.at(-1)
    if (last === undefined) return
    this.#seen.set(names.length, (this.#seen.get(names.length) ?? new Set()).add(last))
  }

  async #rebuild(replica: RacingReplica): Promise<void> {
    this.rebuilds += 1
    await this.#untilKilled(replica, () => replica.rebuild())
    while (!replica.isAtEnd) await this.#untilKilled(replica, () => replica.rebuild())
  }

  async #untilKilled(replica: RacingReplica, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      this.kills += 1
      await replica.open()
    }
  }
}

/** The names that are on the list find every document that has them, and the others find none. */
async function expectNamed(
  replica: RacingReplica,
  list: readonly TableField[],
  random: Random,
): Promise<void> {
  await replica.learn()
  expect(replica.names, 'the names that a replica knows').to.deep.equal(list.map(nameOf))
  const kinds = new Map(list.map((field) => [nameOf(field), field.kind]))
  const known = [...kinds.keys()]
  const some = Array.from({ length: PROBES / 2 }, () => `f${Math.floor(random() * 16_000)}`)
  for (const name of [...known.slice(-PROBES / 4), ...some]) {
    expect(replica.keysWith(name), `documents with ${name}`).to.equal(
      expectedKeys(replica.log, name, kinds.get(name)),
    )
  }
}

function expectedKeys(log: ShardLog, name: string, kind: TableField['kind'] | undefined): string {
  if (kind === undefined) return ''
  const keys = [...newestOf(log)].flatMap(([key, content]) => {
    const value = content?.[name]
    return value !== undefined && fits(kind, value) ? [key] : []
  })
  return keys.toSorted().join()
}
