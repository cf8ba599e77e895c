import { expect } from 'chai'
import { must } from '../../../../../lib/assert.ts'
import { seededRandom, type Random } from '../../../../../lib/random.ts'
import { timestampOf } from '../../../../../node/clock/hybrid-clock.ts'
import type { Rest } from '../../../../../node/replication/core/rest.ts'
import {
  decodeBeat,
  encodeBeat,
  encodeBeatAnswer,
  type Beat,
  type BeatAnswer,
} from '../../../../../node/replication/shell/beat-codec.ts'
import { HeardRests } from '../../../../../node/replication/shell/heard-rests.ts'
import { LedRests } from '../../../../../node/replication/shell/led-rests.ts'
import type { HeldRest, RestingLog } from '../../../../../node/replication/shell/resting-log.ts'

const REST: Rest = { epoch: 3, last: { sequence: 7, epoch: 3, crc: 0xfedcba98 } }
const HYBRID_TIME = timestampOf(5n)
const LOGS = ['00000000000000a1', '00000000000000a2', '00000000000000a3']
const HISTORIES = 300
const STEPS = 300

/** A log that says yes now and then, and remembers what it was told. */
class FakeLog implements RestingLog {
  readonly logId: string
  readonly #random: Random
  held: HeldRest | undefined
  /** The times of beats that counted. */
  readonly counted: number[] = []

  constructor(logId: string, random: Random) {
    this.logId = logId
    this.#random = random
  }

  count(): void {
    if (this.held !== undefined && this.held.atMs > -Infinity) this.counted.push(this.held.atMs)
  }

  restUnder(_leader: string, _rest: Rest, held: HeldRest): boolean {
    return this.#agree(held)
  }

  followerRests(_node: string, _offered: Rest, held: HeldRest): boolean {
    return this.#agree(held)
  }

  leaderWoke(): void {
    this.held = undefined
  }

  followerWoke(): void {
    this.count()
    this.held = undefined
  }

  end(): void {
    this.count()
    const { held } = this
    this.held = undefined
    held?.end()
  }

  #agree(held: HeldRest): boolean {
    if (this.held === undefined && this.#random() < 0.2) return false
    this.held = held
    return true
  }
}

/** A leader's and a follower's node, and messages between them that come late or never. */
class TwoNodes {
  readonly #random: Random
  readonly led = new LedRests('b')
  #incarnation = 1
  heard: HeardRests
  readonly atLeader: readonly FakeLog[]
  readonly atFollower: readonly FakeLog[]
  /** What rested at the follower when it worked on the beat of that time. */
  readonly restedAt = new Map<number, ReadonlySet<string>>()
  #beats: Beat[] = []
  #answers: BeatAnswer[] = []
  #nowMs = 0

  constructor(random: Random) {
    this.#random = random
    this.atLeader = LOGS.map((logId) => new FakeLog(logId, random))
    this.atFollower = LOGS.map((logId) => new FakeLog(logId, random))
    this.heard = this.#newHeard()
  }

  #newHeard(): HeardRests {
    const find = (logId: string) => this.atFollower.find((log) => log.logId === logId)
    return new HeardRests({ leader: 'a', incarnation: this.#incarnation, find })
  }

  step(): void {
    this.#nowMs += 1
    const moves = [
      () => this.#offer(),
      () => this.#beat(),
      () => this.#beat(),
      () => this.#deliverBeat(),
      () => this.#deliverBeat(),
      () => this.#deliverAnswer(),
      () => this.#deliverAnswer(),
      () => this.#pick(this.atLeader).end(),
      () => this.#pick(this.atFollower).end(),
      () => this.#rarely(() => this.#restart()),
    ]
    this.#pick(moves)()
    for (const log of this.atLeader) log.count()
  }

  #pick<Value>(values: readonly Value[]): Value {
    return must(values[Math.floor(this.#random() * values.length)], 'a value')
  }

  #rarely(work: () => void): void {
    if (this.#random() < 0.1) work()
  }

  #offer(): void {
    const log = this.#pick(this.atLeader)
    if (log.held === undefined) this.led.offer(log, REST)
  }

  #beat(): void {
    const taken = this.led.takeBeat(this.#nowMs)
    const times = { sentMs: this.#nowMs, hybridTime: HYBRID_TIME }
    this.#beats.push({ kind: 'beat', incarnation: 1, ...times, ...taken })
  }

  #deliverBeat(): void {
    const beat = this.#beats.shift()
    if (beat === undefined || this.#random() < 0.2) return
    const answer = this.heard.take(beat, this.#nowMs)
    const resting = this.atFollower.filter(({ held }) => held !== undefined)
    this.restedAt.set(beat.sentMs, new Set(resting.map(({ logId }) => logId)))
    if (answer !== undefined) this.#answers.push({ ...answer, hybridTime: HYBRID_TIME })
  }

  #deliverAnswer(): void {
    const answer = this.#answers.shift()
    if (answer !== undefined && this.#random() >= 0.2) this.led.take(answer)
  }

  #restart(): void {
    for (const log of this.atFollower) log.held = undefined
    this.#incarnation += 1
    this.heard = this.#newHeard()
  }
}

describe('rests of two nodes', () => {
  it('count an answered beat for a log only if it rested at the follower when the beat came', () => {
    let counted = 0
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const nodes = new TwoNodes(seededRandom(seed))
      for (let step = 0; step < STEPS; step++) nodes.step()
      for (const { logId, counted: times } of nodes.atLeader) {
        counted += times.length
        for (const ms of times) {
          const rested = nodes.restedAt.get(ms)?.has(logId)
          expect(rested, `seed ${seed}: beat ${ms} for ${logId}`).to.equal(true)
        }
      }
    }
    expect(counted, 'the histories have to be of use').to.be.greaterThan(HISTORIES * 20)
  })

  it('end when several beats have no answer', () => {
    const led = new LedRests('b')
    const log = new FakeLog('00000000000000a1', () => 1)
    const session = { incarnation: 1, number: 1 }
    const offer = { logId: log.logId, rest: REST }
    led.offer(log, REST)
    expect(led.takeBeat(1).offers).to.deep.equal([offer])
    const accepted = [log.logId]
    led.take({
      kind: 'answer',
      leaderIncarnation: 1,
      hybridTime: HYBRID_TIME,
      sentMs: 1,
      session,
      endedThrough: 0,
      ended: [],
      accepted,
    })
    expect(led.restingCount).to.equal(1)

    for (let ms = 2; ms <= 6; ms++) led.takeBeat(ms)

    expect(led.restingCount).to.equal(0)
    expect(log.held).to.equal(undefined)
    expect(led.isNeeded).to.equal(false)
  })
})

describe('the bytes of beats', () => {
  const session = { incarnation: 4, number: 5 }
  const times = { hybridTime: HYBRID_TIME, sentMs: 1234.5, session }
  const beat: Beat = {
    kind: 'beat',
    incarnation: 2,
    ...times,
    endedKnown: 9,
    offers: LOGS.map((logId) => ({ logId, rest: REST })),
  }
  const answer: BeatAnswer = {
    kind: 'answer',
    leaderIncarnation: 2,
    ...times,
    endedThrough: 11,
    ended: LOGS.slice(0, 2),
    accepted: LOGS.slice(2),
  }

  it('are read as they were written', () => {
    expect(decodeBeat(encodeBeat(beat))).to.deep.equal(beat)
    expect(decodeBeat(encodeBeatAnswer(answer))).to.deep.equal(answer)
  })

  it('are refused when they are cut off, too long or of another format', () => {
    for (const bytes of [encodeBeat(beat), encodeBeatAnswer(answer)]) {
      for (let length = 0; length < bytes.length; length++) {
        expect(() => decodeBeat(bytes.subarray(0, length)), `${length}`).to.throw('damaged')
      }
      expect(() => decodeBeat(Buffer.concat([bytes, Buffer.alloc(1)]))).to.throw('damaged')
      for (const at of [0, 1]) {
        const other = Buffer.from(bytes)
        other[at] = 77
        expect(() => decodeBeat(other)).to.throw('damaged')
      }
    }
  })
})
