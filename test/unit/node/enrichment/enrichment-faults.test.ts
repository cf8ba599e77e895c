// Whatever fails: in the end each document has an artifact of its present source, or a parked one, and no text was
// embedded more often than its writes and the restarts explain.

import { expect } from 'chai'
import { seededRandom, type Random } from '../../../../lib/random.ts'
import { REFUSED_MARK } from '../../../conformance/enrichment.ts'
import { POISON_MARK } from '../../../support/fakes/fake-enrichment.ts'
import { EnrichedWorld } from '../../../support/worlds/enriched-world.ts'

type Fault =
  | 'none'
  | 'unavailable'
  | 'rate-limited'
  | 'other-dimension'
  | 'refused texts'
  | 'a text that breaks calls'
  | 'slow'
  | 'a machine without power'
  | 'a silent model and a machine without power'
  | 'a full disk'
  | 'a short log'

interface FaultPlan {
  begin(world: EnrichedWorld): void
  end(world: EnrichedWorld): Promise<void>
  /** What some of the texts contain. */
  readonly mark?: string
  readonly logEntriesMax?: number
}

const answering = async ({ model }: EnrichedWorld): Promise<void> => {
  model.fault = undefined
}
const nothing = async (): Promise<void> => undefined

const PLANS: Readonly<Record<Fault, FaultPlan>> = {
  none: { begin: () => undefined, end: nothing },
  unavailable: { begin: ({ model }) => (model.fault = 'unavailable'), end: answering },
  'rate-limited': { begin: ({ model }) => (model.fault = 'rate-limited'), end: answering },
  'other-dimension': { begin: ({ model }) => (model.fault = 'other-dimension'), end: answering },
  'refused texts': {
    begin: ({ model }) => (model.fault = 'refuses-marked'),
    end: nothing,
    mark: REFUSED_MARK,
  },
  'a text that breaks calls': { begin: () => undefined, end: nothing, mark: POISON_MARK },
  slow: { begin: ({ model }) => (model.callMs = 5000), end: nothing },
  'a machine without power': { begin: () => undefined, end: (world) => world.restart() },
  'a silent model and a machine without power': {
    begin: ({ model }) => (model.fault = 'silent'),
    end: async (world) => {
      await world.restart()
      world.model.fault = undefined
    },
  },
  'a full disk': {
    begin: ({ shards }) => shards.disk.failWrites('DISK_FULL'),
    end: async ({ shards }) => {
      shards.disk.failWrites(undefined)
    },
  },
  'a short log': {
    begin: ({ model }) => (model.fault = 'unavailable'),
    end: answering,
    logEntriesMax: 5,
  },
}

const KEYS = 40
const ROUNDS = 4
const WRITES_PER_ROUND = 25

/** The texts that a driver has written, with how often. */
class Writer {
  readonly written = new Map<string, number>()
  readonly #random: Random
  readonly #mark: string | undefined
  #count = 0

  constructor(random: Random, mark: string | undefined) {
    this.#random = random
    this.#mark = mark
  }

  /** Inserts, changes and deletes, some of them together. */
  async write(world: EnrichedWorld): Promise<void> {
    const texts: Record<string, string | undefined> = {}
    const together = 1 + Math.floor(this.#random() * 4)
    for (let i = 0; i < together; i++) {
      texts[`k${Math.floor(this.#random() * KEYS)}`] = this.#text()
    }
    await world.write(texts).catch(() => undefined) // refused by a full disk
    for (const text of Object.values(texts)) {
      if (text !== undefined) this.written.set(text, (this.written.get(text) ?? 0) + 1)
    }
  }

  #text(): string | undefined {
    const roll = this.#random()
    if (roll < 0.2) return undefined
    if (roll < 0.25) return ''
    if (roll < 0.35 && this.#mark !== undefined) return `${this.#mark} ${this.#count++}`
    return roll < 0.5 ? `common ${Math.floor(roll * 100)}` : `text ${this.#count++}`
  }
}

describe('an index whose documents are enriched while things fail', () => {
  for (const [fault, plan] of Object.entries(PLANS)) {
    for (const seed of [1, 2]) {
      it(`ends with every document enriched or parked: ${fault} (seed ${seed})`, async () => {
        const limits = { entries: plan.logEntriesMax ?? 100_000, bytes: 64 * 1024 * 1024 }
        await using world = await EnrichedWorld.open({ limits, batch: { items: 8, bytes: 1024 } })
        const random = seededRandom(seed)
        const writer = new Writer(random, plan.mark)
        for (let round = 0; round < ROUNDS; round++) {
          await playRound(world, { plan, writer, random })
        }

        await world.settle()

        const states = Object.values(await world.artifacts())
        const { parked } = await world.status()
        expect(states.filter((state) => state === 'parked')).to.have.length(parked)
        if (plan.mark === undefined) expect(parked).to.equal(0)
        for (const [text, count] of world.model.embedded) {
          const known = writer.written.get(text.trim()) ?? 0
          expect(count, text).to.be.at.most(known + ROUNDS)
        }
      })
    }
  }
})

interface Play {
  readonly plan: FaultPlan
  readonly writer: Writer
  readonly random: Random
}

async function playRound(world: EnrichedWorld, { plan, writer, random }: Play): Promise<void> {
  for (let i = 0; i < WRITES_PER_ROUND; i++) {
    if (i === 5) plan.begin(world)
    await writer.write(world)
    if (random() < 0.4) await world.step(random() * 200)
  }
  await world.pass(random() * 20_000)
  await plan.end(world)
  await world.pass(random() * 2000)
}
