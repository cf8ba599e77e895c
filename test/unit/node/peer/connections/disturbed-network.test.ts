import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { isServiceError } from '../../../../../lib/errors.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { seededRandom } from '../../../../../lib/random.ts'
import { Replaceable } from '../../../../../lib/replaceable.ts'
import { MemoryNetwork } from '../../../../../node/peer/channels/memory-network.ts'
import { openPeerNode, PEER_VERSIONS } from '../../../../../node/peer/connections/open-peer-node.ts'
import { TransportError } from '../../../../../node/peer/peer.ts'
import type { PeerHandlers, PeerLink, PeerNode } from '../../../../../node/peer/peer.ts'
import { TEST_LIMITS, TEST_SECRET } from '../../../../support/peer/peer-world.ts'

const SEEDS = 25
const STEPS = 150
const CALL = 1
const MESSAGE = 2
const UPLOAD = 3

type Outcome = 'answered' | 'nothing' | 'unknown'

/** Two nodes on a network that a seed disturbs, and all that was asked and done. */
class Disturbed {
  readonly clock = new ManualClock()
  readonly network = new MemoryNetwork(this.clock)
  readonly random
  /** How often the handler ran, by call. */
  readonly runs = new Map<number, number>()
  readonly outcomes = new Map<number, Outcome>()
  readonly messages: number[] = []
  sent = 0
  asked = 0
  wrongAnswers = 0
  readonly faults: unknown[] = []

  constructor(seed: number) {
    this.random = seededRandom(seed)
  }

  chance(probability: number): boolean {
    return this.random() < probability
  }

  open(nodeId: string): Promise<PeerNode> {
    return openPeerNode({
      transport: this.network.host(nodeId),
      cluster: 'library',
      nodeId,
      secrets: new Replaceable([TEST_SECRET]),
      handlers: this.#handlers(),
      limits: TEST_LIMITS,
      versions: PEER_VERSIONS,
      port: 7,
      clock: this.clock,
      random: this.random,
      randomBytes,
      log: silentLog,
      onFault: (error) => this.faults.push(error),
    })
  }

  /** One thing happens: a call, a message, an upload, a fault or its end. */
  step(link: PeerLink): void {
    if (this.chance(0.4)) this.#ask(link)
    if (this.chance(0.3)) this.#send(link)
    if (this.chance(0.05)) this.network.cut('a', 'b')
    const [from, to] = this.chance(0.5) ? (['a', 'b'] as const) : (['b', 'a'] as const)
    if (this.chance(0.05)) this.network.cutOneEnd(from, to)
    if (this.chance(0.05)) this.network.corruptNext('a', 'b')
    if (this.chance(0.05)) this.network.corruptNext('b', 'a')
    if (this.chance(0.15)) this.heal()
    if (this.chance(0.1)) {
      const isBlackHole = this.chance(0.3)
      this.network.weather(from, to, { delayMs: Math.floor(this.random() * 60), isBlackHole })
    }
  }

  heal(): void {
    for (const [from, to] of [['a', 'b'] as const, ['b', 'a'] as const]) {
      this.network.weather(from, to, { delayMs: 0, isBlackHole: false })
    }
  }

  /** On a healed network calls are answered again. */
  async answered(link: PeerLink): Promise<void> {
    for (let turns = 0; turns < 500; turns++) {
      const before = this.asked
      this.#call(link, undefined)
      await this.pass(10)
      await this.pass(100)
      if (this.outcomes.get(before + 1) === 'answered') return
    }
    expect.fail('no call was answered')
  }

  async settled(promise: Promise<unknown>): Promise<void> {
    const state = { isSettled: false }
    const done = promise.then(() => (state.isSettled = true))
    for (let turns = 0; !state.isSettled && turns < 2000; turns++) await this.pass(10)
    await done
  }

  async pass(ms: number): Promise<void> {
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve))
    this.clock.advance(ms)
  }

  #ask(link: PeerLink): void {
    this.#call(link, this.chance(0.5) ? Math.floor(this.random() * 300) : undefined)
  }

  #call(link: PeerLink, timeoutMs: number | undefined): void {
    const id = (this.asked += 1)
    const size = this.chance(0.1) ? 150_000 : 8
    const body = Buffer.alloc(size)
    body.writeUInt32BE(id)
    const answer = this.chance(0.3)
      ? link.upload({ operation: UPLOAD, body }, partsOf(body), { timeoutMs, lane: 'bulk' })
      : link.call({ operation: CALL, body }, { timeoutMs })
    answer.then(
      (found) => {
        if (!found.equals(body)) this.wrongAnswers += 1
        this.outcomes.set(id, 'answered')
      },
      (error: unknown) => this.outcomes.set(id, outcomeOf(error)),
    )
  }

  #send(link: PeerLink): void {
    const body = Buffer.alloc(8)
    body.writeUInt32BE((this.sent += 1))
    link.send({ operation: MESSAGE, body })
  }

  #handlers(): PeerHandlers {
    const run = async (body: Buffer): Promise<void> => {
      const id = body.readUInt32BE()
      this.runs.set(id, (this.runs.get(id) ?? 0) + 1)
      if (this.chance(0.5)) await this.clock.sleep(Math.floor(this.random() * 100))
    }
    return new Map([
      [
        CALL,
        {
          kind: 'call',
          handle: async ({ body }) => {
            await run(body)
            return body
          },
        },
      ],
      [
        MESSAGE,
        { kind: 'message', handle: ({ body }) => void this.messages.push(body.readUInt32BE()) },
      ],
      [
        UPLOAD,
        {
          kind: 'upload',
          handle: async ({ body, parts }) => {
            await run(body)
            const found: Buffer[] = []
            for await (const part of parts) found.push(part)
            return Buffer.concat(found)
          },
        },
      ],
    ])
  }
}

async function* partsOf(body: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += 4000) yield body.subarray(at, at + 4000)
}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof TransportError) return error.happened
  // The other side's word that the time was over, or that the caller's connection was lost.
  expect(isServiceError(error), String(error)).to.equal(true)
  return 'unknown'
}

describe('two nodes on a disturbed network', () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    it(`keep the promises of links, seed ${seed}`, async () => {
      const world = new Disturbed(seed)
      const [a, b] = [await world.open('a'), await world.open('b')]
      const link = a.link({ nodeId: 'b', host: 'b', port: 7 })
      for (let step = 0; step < STEPS; step++) {
        world.step(link)
        await world.pass(Math.floor(world.random() * 30))
      }
      world.heal()
      await world.answered(link)
      // Calls without a deadline end at the latest when silence has told of their lost connection.
      for (let turns = 0; world.outcomes.size < world.asked && turns < 2000; turns++) {
        await world.pass(10)
      }

      expect(world.outcomes.size, 'every call has an outcome').to.equal(world.asked)
      expect(world.wrongAnswers).to.equal(0)
      for (const [id, outcome] of world.outcomes) {
        const runs = world.runs.get(id) ?? 0
        if (outcome === 'answered') expect(runs, `runs of call ${id}`).to.equal(1)
        else expect(runs, `runs of call ${id}`).to.be.at.most(outcome === 'nothing' ? 0 : 1)
      }
      expect(world.messages).to.deep.equal([...new Set(world.messages)].toSorted((x, y) => x - y))
      expect(world.faults).to.deep.equal([])

      await world.settled(Promise.all([a.close(), b.close()]))
    })
  }
})
