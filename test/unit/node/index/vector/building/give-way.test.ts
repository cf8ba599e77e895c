import { expect } from 'chai'
import {
  clearAnswering,
  newAnsweringFlag,
  setAnswering,
} from '../../../../../../node/index/host/answering-flag.ts'
import { GiveWay } from '../../../../../../node/index/vector/building/give-way.ts'

const STEP_MS = 0.1

/** A build of equal steps, beside questions that begin and end at given times. */
class Build {
  nowMs = 0
  pausedMs = 0
  readonly #flag = newAnsweringFlag()
  readonly #isAnswering: (ms: number) => boolean
  readonly #giveWay: GiveWay

  constructor(isAnswering: (ms: number) => boolean) {
    this.#isAnswering = isAnswering
    const clock = { monotonicMs: () => this.nowMs }
    this.#giveWay = new GiveWay({ flag: this.#flag, clock, wait: (_, ms) => this.#wait(ms) })
  }

  run(ms: number): void {
    const endMs = this.nowMs + ms
    while (this.nowMs < endMs) {
      this.nowMs += STEP_MS
      this.#setFlag()
      this.#giveWay.pause()
    }
  }

  #wait(ms: number): void {
    const beganMs = this.nowMs
    while (this.nowMs < beganMs + ms && this.#isAnswering(this.nowMs)) this.nowMs += 0.01
    this.pausedMs += this.nowMs - beganMs
    this.#setFlag()
  }

  #setFlag(): void {
    if (this.#isAnswering(this.nowMs)) setAnswering(this.#flag)
    else clearAnswering(this.#flag)
  }
}

describe('a build that gives way to questions', () => {
  it('never pauses while there are none', () => {
    const build = new Build(() => false)
    build.run(100)
    expect(build.pausedMs).to.equal(0)
  })

  it('pauses for each of them where they leave it half of the time', () => {
    const build = new Build((ms) => ms % 10 < 4)
    build.run(1000)
    // Four of ten, but for the rest of a step at the beginning of each.
    expect(build.pausedMs / build.nowMs).to.be.within(0.37, 0.41)
  })

  it('works for half of the time beside questions without an end', () => {
    const build = new Build(() => true)
    build.run(1000)
    expect(build.pausedMs / build.nowMs).to.be.within(0.45, 0.51)
  })

  it('does not make up for a long time without questions', () => {
    const build = new Build((ms) => ms > 60_000)
    build.run(60_000)
    build.run(100)
    expect(build.pausedMs).to.be.within(50, 70)
  })
})
