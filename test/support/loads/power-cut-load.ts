// Writes, transactions and deletions over a few shards, and what may be found of them after a power
// failure at any moment: of each operation all or nothing, and all of what was acknowledged. Each document has
// its vector, which is part of the same.

import { expect } from 'chai'
import { ManualClock } from '../../../lib/clock.ts'
import { parseExact } from '../../../node/document/exact-json.ts'
import { PartCollector } from '../../../node/transactions/transaction-part.ts'
import { jsonOf } from '../../../node/shard/format/document-record.ts'
import type { WriteOp } from '../../../node/shard/command/command.ts'
import { keyspaceRange } from '../../../node/shard/format/keyspace.ts'
import type { Random } from '../../../lib/random.ts'
import { vectorIn, vectorWrite } from '../artifacts.ts'
import { fieldOf } from '../servers/swarm-harness.ts'
import { deleteOp, putOp, type ShardWorld } from '../worlds/shard-world.ts'

export const SHARD_NAMES = ['a', 'b', 'c']
const INDEX = '0123456789abcdef'
const KEYS = 12
const OVERLAP = 4

/** Where a document is: `shard/key`. */
type Place = string
/** What a document says; undefined for none. */
type Value = number | undefined

interface Operation {
  readonly places: readonly Place[]
  readonly value: Value
}

/** What a check needs to know of the moment of a power failure. */
export interface Expected {
  readonly acknowledged: ReadonlyMap<Place, Value>
  readonly pending: readonly Operation[]
}

/** Runs random operations, a few at once, never two on one document. */
export class PowerCutLoad {
  readonly #world: ShardWorld
  readonly #random: Random
  readonly #acknowledged = new Map<Place, Value>()
  readonly #pending = new Set<Operation>()
  #next = 1

  constructor(world: ShardWorld, random: Random) {
    this.#world = world
    this.#random = random
  }

  expected(): Expected {
    return { acknowledged: new Map(this.#acknowledged), pending: [...this.#pending] }
  }

  async run(operations: number): Promise<void> {
    let left = operations
    const work = async (): Promise<void> => {
      while (left-- > 0) await this.#operate()
    }
    await Promise.all(Array.from({ length: OVERLAP }, work))
  }

  async #operate(): Promise<void> {
    const places = this.#freePlaces()
    if (places.length === 0) return
    const value = this.#random() < 0.2 ? undefined : this.#next++
    const operation = { places, value }
    this.#pending.add(operation)
    const collector = new PartCollector()
    for (const place of places) {
      const [shard = '', key = ''] = place.split('/')
      collector.addOp(this.#world.table(shard), this.#opOf(key, value))
    }
    const options = { onContention: 'wait', awaitResolution: this.#random() < 0.5 } as const
    // The stores are written a few milliseconds behind the journal.
    const { clock } = this.#world
    if (clock instanceof ManualClock && this.#random() < 0.5) clock.advance(10)
    const outcome = await this.#world.runner.run(collector.parts, options)
    expect(outcome.kind).to.equal('committed')
    this.#pending.delete(operation)
    for (const place of places) this.#acknowledged.set(place, value)
  }

  #opOf(key: string, value: Value): WriteOp {
    if (value === undefined) return deleteOp(key)
    // Now and then a document of many sectors.
    const length = this.#random() < 0.1 ? 5000 : 10
    const op = putOp(key, { value, filler: 'x'.repeat(length) })
    return op.kind === 'put' ? { ...op, artifacts: [vectorWrite(INDEX, value, 1)] } : op
  }

  /** One to three documents of different shards that no operation is busy with. */
  #freePlaces(): readonly Place[] {
    const busy = new Set([...this.#pending].flatMap(({ places }) => places))
    const shards = SHARD_NAMES.filter(() => this.#random() < 0.5)
    return (shards.length === 0 ? ['a'] : shards)
      .map((shard) => `${shard}/k${Math.floor(this.#random() * KEYS)}`)
      .filter((place) => !busy.has(place))
  }
}

/** Throws unless the shards hold what they must, and nothing half. */
export async function checkAfterPowerCut(world: ShardWorld, expected: Expected): Promise<void> {
  await world.recovery.runAtStart()
  const found = new Map<Place, Value>()
  for (const shard of SHARD_NAMES) {
    for (let key = 0; key < KEYS; key++) {
      const bytes = Buffer.from(`k${key}`)
      const record = await world.shard(shard).read(bytes)
      const document = record && fieldOf(parseExact(jsonOf(record)), 'value')
      const value = fieldOf(document, 'value')
      const [[artifact] = []] = await world
        .shard(shard)
        .artifacts({ keys: [bytes], indexes: [INDEX] })
      const vector = value === undefined ? undefined : [Number(value), 1]
      expect(vectorIn(artifact), `the vector of ${shard}/k${key}`).to.deep.equal(vector)
      found.set(`${shard}/k${key}`, value === undefined ? undefined : Number(value))
    }
  }
  const pending = new Set(expected.pending.flatMap(({ places }) => places))
  for (const [place, value] of found) {
    if (!pending.has(place)) expect(value, place).to.equal(expected.acknowledged.get(place))
  }
  for (const { places, value } of expected.pending) {
    const before = places.map((place) => expected.acknowledged.get(place))
    const after = places.map(() => value)
    const seen = places.map((place) => found.get(place))
    expect([before, after], `all or nothing of ${places.join(' ')}`).to.deep.include(seen)
  }
  await checkNothingHeld(world)
}

async function checkNothingHeld(world: ShardWorld): Promise<void> {
  for (const shard of world.local.values()) {
    expect(shard.led.heldKeys).to.equal(0)
    await world.finisher.idle()
    for (const keyspace of ['intents', 'transactions'] as const) {
      for await (const page of (await settledStore(shard)).pages(keyspaceRange(keyspace))) {
        expect(page.length, keyspace).to.equal(0)
      }
    }
  }
}

async function settledStore(
  shard: ReturnType<ShardWorld['shard']>,
): Promise<ReturnType<ShardWorld['shard']>['store']> {
  await shard.settled()
  return shard.store
}
