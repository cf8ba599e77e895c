// Histories of one replicated shard by chance: power failures, cuts in the network, elections. What was
// acknowledged is there at the end, and all replicas hold the same.

import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { seededRandom, type Random } from '../../lib/random.ts'
import { jsonOf } from '../../node/shard/format/document-record.ts'
import { putOp } from '../support/worlds/shard-world.ts'
import { ReplicatedWorld, type TestNode } from '../support/worlds/replicated-world.ts'

const HISTORIES = Number(process.env['QUARRY_TEST_HISTORIES'] ?? 12)
const ROUNDS = 150
const KEYS = 5

/** What a key may hold: the last acknowledged value, and all whose outcome is unknown since. */
type Possible = Map<string, Set<number | undefined>>

class History {
  readonly world: ReplicatedWorld
  readonly #random: Random
  readonly #possible: Possible = new Map()
  readonly #cut = new Set<string>()
  #values = 0
  readonly #pending = new Set<string>()
  acknowledged = 0

  constructor(world: ReplicatedWorld, random: Random) {
    this.world = world
    this.#random = random
    world.isLost = (from, to) => this.#cut.has(from) || this.#cut.has(to)
  }

  #chance(ratio: number): boolean {
    return this.#random() < ratio
  }

  #pick<Value>(values: readonly Value[]): Value | undefined {
    return values[Math.floor(this.#random() * values.length)]
  }

  async round(): Promise<void> {
    for (const node of this.world.nodes) if (this.#chance(0.5)) this.#write(node)
    await this.#fault()
    this.#controlElections()
    const steps = Math.floor(this.#random() * 12)
    for (let step = 0; step < steps; step++) await this.world.step()
  }

  /** At any node: those that do not lead refuse. One key is written by one writer at a time. */
  #write(node: TestNode): void {
    const key = `k${Math.floor(this.#random() * KEYS)}`
    if (node.running === undefined || this.#pending.has(key)) return
    const value = ++this.#values
    this.#pending.add(key)
    const ended = (): void => {
      this.#pending.delete(key)
    }
    const ops = [putOp(key, value)]
    node.shard.write({ checks: [], ops, ttl: undefined }).then(
      () => {
        this.acknowledged += 1
        this.#possible.set(key, new Set([value]))
        ended()
      },
      (error: unknown) => {
        if (!isRefusal(error)) this.#of(key).add(value)
        ended()
      },
    )
  }

  #of(key: string): Set<number | undefined> {
    const known = this.#possible.get(key) ?? new Set([undefined])
    this.#possible.set(key, known)
    return known
  }

  async #fault(): Promise<void> {
    const { nodes } = this.world
    const node = must(this.#pick(nodes), 'a node')
    if (node.running === undefined && this.#chance(0.3)) await this.world.restart(node)
    else if (node.running !== undefined && this.#chance(0.03)) await this.world.kill(node)
    if (this.#cut.has(node.id) && this.#chance(0.3)) this.#cut.delete(node.id)
    else if (this.#chance(0.03)) this.#cut.add(node.id)
    if (this.#chance(0.02)) this.#elect(node)
    this.world.control.isAway = this.#chance(0.1)
  }

  /** As a controller would: a leader that is gone or has restarted is replaced. */
  #controlElections(): void {
    const { leader } = this.world.control.configuration
    const isAlive = leader !== undefined && this.#isLife(leader)
    if (isAlive && !this.#cut.has(leader.node)) return
    const candidates = this.world.nodes.filter(({ id }) => !this.#cut.has(id))
    const next = this.#pick(candidates)
    if (next !== undefined && this.#chance(0.3)) this.#elect(next)
  }

  #isLife({ node, incarnation }: { node: string; incarnation: number }): boolean {
    const found = this.world.node(node)
    return found.running !== undefined && found.incarnation === incarnation
  }

  #elect(node: TestNode): void {
    const { inSync } = this.world.control.configuration
    if (node.running === undefined || !inSync.some((member) => member.node === node.id)) return
    this.world.control.elect(node.replica)
  }

  /** Everything works again. */
  async heal(): Promise<void> {
    const { world } = this
    this.#cut.clear()
    world.control.isAway = false
    for (const node of world.nodes) if (node.running === undefined) await world.restart(node)
    const { inSync } = world.control.configuration
    this.#elect(world.node(must(inSync[0], 'a member in sync').node))
    await world.until(() => world.nodes.some(({ isServing }) => isServing))
    await world.until(
      () =>
        world.control.configuration.inSync.length === world.nodes.length &&
        this.#pending.size === 0,
    )
  }

  async check(): Promise<void> {
    const { world } = this
    for (const [key, possible] of this.#possible) {
      const found = await world.when(Promise.resolve(world.leader.shard.read(Buffer.from(key))))
      const text = found && jsonOf(found).toString()
      const value = text === undefined ? undefined : JSON.parse(text).value
      expect([...possible], key).to.include(value)
    }
    const applied = world.leader.shard.committedSequence
    await world.until(() => world.nodes.every(({ shard }) => shard.appliedSequence >= applied))
    const expected = await contentOf(world.leader)
    for (const node of world.nodes) expect(await contentOf(node), node.id).to.deep.equal(expected)
  }
}

function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error && 'code' in error)) return false
  return ['NOT_LEADER', 'OVERLOADED', 'TOO_FEW_IN_SYNC', 'DISK_FULL'].includes(String(error.code))
}

async function contentOf(node: TestNode): Promise<readonly string[]> {
  const rows: string[] = []
  for await (const page of must(node.running, node.id).shard.store.pages({})) {
    for (const [at, value] of page) rows.push(`${at.toString('hex')}=${value.toString('hex')}`)
  }
  return rows
}

describe('a replicated shard under faults', () => {
  it('loses no acknowledged write, and its replicas become equal', async function () {
    this.timeout(300_000)
    const first = Number(process.env['QUARRY_TEST_SEED'] ?? 1)
    let acknowledged = 0
    for (let seed = first; seed < first + HISTORIES; seed++) {
      try {
        await using world = await ReplicatedWorld.open()
        const history = new History(world, seededRandom(seed))
        for (let round = 0; round < ROUNDS; round++) await history.round()
        await history.heal()
        await history.check()
        acknowledged += history.acknowledged
      } catch (error) {
        throw new Error(`QUARRY_TEST_SEED=${seed}`, { cause: error })
      }
    }
    expect(acknowledged, 'the histories have to be of use').to.be.greaterThan(HISTORIES * 20)
  })
})
