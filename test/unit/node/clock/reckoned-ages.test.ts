// Ages of what a leader has closed, as other nodes measure them, while wall clocks leap and slew: the promise SR3 of
// `stale-reads.ts`, for thousands of moments of each history.

import { expect } from 'chai'
import { ManualClock, type Clock } from '../../../../lib/clock.ts'
import { seededRandom, type Random } from '../../../../lib/random.ts'
import {
  HybridClock,
  millisOf,
  TIMESTAMP_ZERO,
  type Timestamp,
} from '../../../../node/clock/hybrid-clock.ts'

const START_MS = 1_700_000_000_000
const NODES = 4
const STEP_MS = 25
const STEPS = 8000
/** A message takes so long at most. */
const DELAY_MS = 20
const LEAP_MS = 20_000
const HISTORIES = 12

/** The same monotonic clock, and a wall clock that leaps. */
class LeapingWall implements Clock {
  readonly #true: ManualClock
  offsetMs: number

  constructor(truth: ManualClock, offsetMs: number) {
    this.#true = truth
    this.offsetMs = offsetMs
  }

  nowMs = (): number => this.#true.nowMs() + this.offsetMs
  monotonicMs = (): number => this.#true.monotonicMs()
  uptimeMs = (): number => this.#true.uptimeMs()
  after = (ms: number, act: () => void): (() => void) => this.#true.after(ms, act)
  sleep = (ms: number, signal?: AbortSignal): Promise<void> => this.#true.sleep(ms, signal)
  every = (ms: number, task: () => Promise<void>): (() => Promise<void>) =>
    this.#true.every(ms, task)
}

interface TestNode {
  readonly wall: LeapingWall
  readonly hybrid: HybridClock
  /** The closed time that it knows, and when the leader took it. */
  closed: { readonly time: Timestamp; readonly takenMs: number } | undefined
}

type Measure = (node: HybridClock) => number

const BY_RECKONED_TIME: Measure = (hybrid) => hybrid.reckonedMs()
/** The planted defect: it understates, because the time of a node whose clock leapt back stands still. */
const BY_HYBRID_TIME: Measure = (hybrid) => millisOf(hybrid.readPoint())

/** The greatest difference of a true age and the one that was told; positive: it was told too young. */
async function mostUnderstated(seed: number, measure: Measure): Promise<number> {
  const random = seededRandom(seed)
  const truth = new ManualClock(START_MS)
  const nodes = await openNodes(truth, random)
  const followers = nodes.slice(1)
  let worstMs = -Infinity
  for (let step = 0; step < STEPS; step++) {
    truth.advance(STEP_MS)
    for (const { hybrid } of nodes) await hybrid.keepAhead()
    if (random() < 0.002) leap(nodes, random)
    if (random() < 0.05) closeTime(nodes, truth, random)
    for (const node of followers) {
      if (node.closed === undefined || random() < 0.5) continue
      const told = measure(node.hybrid) - millisOf(node.closed.time)
      worstMs = Math.max(worstMs, truth.monotonicMs() - node.closed.takenMs - told)
    }
  }
  return worstMs
}

async function openNodes(truth: ManualClock, random: Random): Promise<TestNode[]> {
  const nodes: TestNode[] = []
  for (let at = 0; at < NODES; at++) {
    const wall = new LeapingWall(truth, Math.round(300 * random()))
    let stored: Timestamp = TIMESTAMP_ZERO
    const bound = {
      load: async () => stored,
      save: async (value: Timestamp) => void (stored = value),
    }
    nodes.push({ wall, hybrid: await HybridClock.open(wall, bound), closed: undefined })
  }
  return nodes
}

/** The first node closes time; what it tells arrives a moment later, and not everywhere. */
function closeTime(
  [leader, ...followers]: readonly TestNode[],
  truth: ManualClock,
  random: Random,
) {
  const closed = { time: leader!.hybrid.readPoint(), takenMs: truth.monotonicMs() }
  const stamp = leader!.hybrid.readPoint()
  truth.advance(DELAY_MS * random())
  for (const node of followers) {
    if (random() < 0.2 || !hears(node.hybrid, stamp)) continue
    node.closed = closed
    // Its answer raises the leader's clock.
    hears(leader!.hybrid, node.hybrid.readPoint())
  }
}

/** Back by 20 s, or to the right time again. */
function leap(nodes: readonly TestNode[], random: Random): void {
  const { wall } = nodes[Math.floor(random() * nodes.length)]!
  wall.offsetMs = wall.offsetMs < 0 ? Math.round(300 * random()) : -LEAP_MS
}

/** False: the stamp is refused, because it is too far ahead. */
function hears(hybrid: HybridClock, stamp: Timestamp): boolean {
  try {
    hybrid.observe(stamp)
    return true
  } catch {
    return false
  }
}

describe('ages by reckoned time', () => {
  it('are never below the true age by more than a message takes, whatever wall clocks do', async () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const worstMs = await mostUnderstated(seed, BY_RECKONED_TIME)

      expect(worstMs, `seed ${seed}`).to.be.at.most(DELAY_MS + 1)
    }
  })

  it('are what hybrid time would understate by seconds', async () => {
    const found: number[] = []
    for (let seed = 1; seed <= HISTORIES; seed++) {
      found.push(await mostUnderstated(seed, BY_HYBRID_TIME))
    }

    expect(Math.max(...found)).to.be.greaterThan(500)
  })
})
