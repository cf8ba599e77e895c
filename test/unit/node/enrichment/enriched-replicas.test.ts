// A replicated shard is enriched by its leader alone. Leaders change and lose power in the middle of it.

import { expect } from 'chai'
import { must } from '../../../../lib/assert.ts'
import { seededRandom, type Random } from '../../../../lib/random.ts'
import type { Enrichers } from '../../../../node/enrichment/enrichers.ts'
import { FakeModel } from '../../../support/fakes/fake-enrichment.ts'
import {
  buildFakeEnrichers,
  ENRICHED,
  ENRICHED_SETTINGS,
  unsettledIn,
} from '../../../support/worlds/enriched-world.ts'
import { ReplicatedWorld, type TestNode } from '../../../support/worlds/replicated-world.ts'

const DOCUMENTS = 60
const CHANGES = 6

/** Three nodes, each of which enriches what it leads, all with one model. */
class World implements AsyncDisposable {
  readonly replicas: ReplicatedWorld
  readonly model = new FakeModel()
  readonly #enrichers = new Map<TestNode, Enrichers>()

  private constructor(replicas: ReplicatedWorld) {
    this.replicas = replicas
  }

  static async open(): Promise<World> {
    const world = new World(await ReplicatedWorld.open())
    for (const node of world.replicas.nodes) await world.enrich(node)
    return world
  }

  async enrich(node: TestNode): Promise<void> {
    const { clock } = this.replicas
    const parts = { clock, led: node.led, model: this.model, batch: { items: 8, bytes: 4096 } }
    await node.shard.led.setSettings(ENRICHED_SETTINGS)
    this.#enrichers.set(node, buildFakeEnrichers(parts))
  }

  /** The node's machine loses power; another node leads then, and this one comes back. */
  async kill(node: TestNode): Promise<void> {
    const enrichers = must(this.#enrichers.get(node), 'enrichers of the node')
    await this.replicas.kill(node)
    await enrichers[Symbol.asyncDispose]()
    this.lead(this.others(node))
    await this.replicas.restart(node)
    await this.enrich(node)
  }

  lead(nodes: readonly TestNode[]): void {
    const inSync = new Set(this.replicas.control.configuration.inSync.map(({ node }) => node))
    const next = must(
      nodes.find(({ id }) => inSync.has(id)),
      'another replica in sync',
    )
    this.replicas.control.elect(next.replica)
  }

  others(node: TestNode): readonly TestNode[] {
    return this.replicas.nodes.filter((one) => one !== node)
  }

  /** Where the write is not acknowledged, it may have happened. */
  async put(key: string, text: string): Promise<void> {
    const json = Buffer.from(JSON.stringify({ text }))
    const op = { kind: 'put', key: Buffer.from(key), json, expiry: { kind: 'none' } } as const
    const { shard } = this.replicas.leader
    const written = shard.write({ checks: [], ops: [op], ttl: undefined })
    await this.replicas.when(written.catch(() => undefined))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.replicas[Symbol.asyncDispose]()
    for (const enrichers of this.#enrichers.values()) await enrichers[Symbol.asyncDispose]()
  }
}

type Change = (world: World, leader: TestNode) => Promise<void>

const CHANGES_OF_LEADERS: Readonly<Record<string, Change>> = {
  'another leader': async (world, leader) => world.lead(world.others(leader)),
  'a leader without power': (world, leader) => world.kill(leader),
}

describe('a replicated shard whose documents are enriched', () => {
  for (const [name, change] of Object.entries(CHANGES_OF_LEADERS)) {
    for (const seed of [1, 2, 3]) {
      it(`ends with every document enriched on all replicas: ${name} (seed ${seed})`, async () => {
        await using world = await World.open()
        const { replicas, model } = world
        const random = seededRandom(seed)
        await replicas.until(() => replicas.nodes.some(({ isServing }) => isServing))
        model.callMs = 200
        const written = await play(world, change, random)

        await replicas.until(async () => {
          const serving = replicas.nodes.every(({ running }) => running !== undefined)
          if (!serving) return false
          const left = await Promise.all(
            replicas.nodes.map(({ shard }) => unsettledIn(shard.store)),
          )
          return left.every((keys) => keys.length === 0)
        })

        const status = await replicas.leader.shard.led.enrichers.get(ENRICHED.id)?.status(1)
        expect(status).to.include({ parked: 0 })
        for (const [text, count] of model.embedded) {
          expect(count, text).to.be.at.most((written.get(text) ?? 0) + CHANGES)
        }
        const total = [...model.embedded.values()].reduce((sum, count) => sum + count, 0)
        expect(total).to.be.at.most(written.size * 2)
      })
    }
  }
})

/** Writes while leaders change. Answers how often each text was written. */
async function play(world: World, change: Change, random: Random): Promise<Map<string, number>> {
  const { replicas } = world
  const written = new Map<string, number>()
  for (let round = 0; round < CHANGES; round++) {
    for (let i = 0; i < DOCUMENTS / CHANGES; i++) {
      const text = `text ${written.size}`
      await world.put(`k${Math.floor(random() * DOCUMENTS)}`, text)
      written.set(text, 1)
    }
    for (let steps = random() * 12; steps > 0; steps--) await replicas.step()
    await change(world, replicas.leader)
    await replicas.until(() => replicas.nodes.some(({ isServing }) => isServing))
  }
  return written
}
