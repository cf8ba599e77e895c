import { expect } from 'chai'
import { ManualClock } from '../../../lib/clock.ts'
import type { Sliced } from '../../../lib/sliced.ts'
import { TurnGate } from '../../../lib/turn-gate.ts'
import { errorOf } from '../../support/error-of.ts'

describe('TurnGate', () => {
  it('begins an arrival at once while the turn has room (TG1)', () => {
    const world = new World()

    for (const name of ['a', 'b', 'c']) void world.run(name, 20)

    expect(world.spent()).to.equal('a4 b4')
  })

  it('gives all computations together one share of each turn (TG1)', async () => {
    const world = new World()

    const runs = ['a', 'b', 'c', 'd', 'e'].map((name) => world.run(name, 40))
    await world.turnUntil(runs)

    // The first is full when it begins, and takes one step further (TG3).
    expect(Math.max(...world.turnsMs)).to.be.at.most(8 + 1)
    // Each end has a turn for what follows it (TG5).
    expect(world.turnsMs.length).to.be.at.most((5 * 40) / 8 + 5 + 3)
  })

  it('gives no second slice before all have had one (TG2)', async () => {
    const world = new World()
    const names = ['a', 'b', 'c', 'd']

    const runs = names.map((name) => world.run(name, 6))
    const arrival = world.spent()
    const turns = [world.turn(), world.turn(), world.turn(), world.turn()]
    await world.turnUntil(runs)

    expect(arrival).to.equal('a4 b4')
    // In the third, callers whose computations were over continue (TG5).
    expect(turns).to.deep.equal(['a1', 'b2 c2 d2 a1', '', 'c4 d4'])
  })

  it('advances one computation in each turn, however much time arrivals took (TG3)', () => {
    const world = new World()
    void world.run('old', 100)
    world.turn()
    world.turn()

    const turns: string[] = []
    for (const name of ['a', 'b', 'c']) {
      void world.run(name, 1, { stepMs: 10 })
      turns.push(world.turn())
    }

    expect(turns).to.deep.equal(['old1', 'old1', 'old1'])
  })

  it('does not delay a short one until long ones end (TG2)', async () => {
    const world = new World()
    for (let n = 0; n < 20; n += 1) void world.run(`long ${n}`, 1000)
    world.turn()

    const beganMs = world.clock.monotonicMs()
    const short = world.run('short', 1).then(() => world.clock.monotonicMs() - beganMs)
    await world.turnUntil([short])

    expect(await short).to.be.at.most(20 + 2 * 8)
  })

  it('has room again after a turn without work', () => {
    const world = new World()
    void world.run('a', 8, { stepMs: 8 })
    const whenFull = world.gate.isFull
    for (let n = 0; n < 10; n += 1) world.turn()

    expect([whenFull, world.gate.isFull]).to.deep.equal([true, false])
    expect(world.deferred).to.equal(0)
  })

  it('defers only the accounting for a computation that ends on arrival', async () => {
    const world = new World()

    const result = await world.run('a', 1)
    world.turn()

    expect(result).to.equal('a')
    expect(world.deferred).to.equal(0)
  })

  it('gives waiting callers a share of time, in the order of the queue', async () => {
    const world = new World()
    const shares: number[] = []
    for (const name of ['a', 'b']) void world.run(name, 30)
    const waits = [4, 4, 1].map(async (ms) => shares.push(await world.gate.wait(ms)))

    const turns = [world.turn(), world.turn(), world.turn()]
    await Promise.all(waits)

    // Of the second turn, all five have a share: 8 / 5 ms, and a whole step of each computation.
    // They continue in the third.
    expect(turns).to.deep.equal(['a1', 'b2 a2', ''])
    expect(shares).to.deep.equal([1.6, 1.6, 1])
  })

  it('runs no slice in the turn in which awaiting code continues (TG5)', async () => {
    const world = new World()
    const order: string[] = []
    const first = world.run('a', 6).then(() => order.push('a is over'))
    void world.run('b', 100)

    for (let n = 0; n < 4; n += 1) {
      order.push(world.turn())
      await new Promise((resolve) => setImmediate(resolve))
    }
    await first

    expect(order).to.deep.equal(['a1', 'b4 a1', '', 'a is over', 'b4'])
  })

  it('settles at once a computation that ends on arrival, and a wait while the gate is idle', async () => {
    const world = new World()
    const order: string[] = []
    const over = world.run('a', 3).then(() => order.push('a is over'))
    await over
    const wait = world.gate.wait(4).then((ms) => order.push(`${ms} ms`))
    order.push(world.turn())
    await wait

    expect(order).to.deep.equal(['a is over', '', '4 ms'])
  })

  it('settles with the result or the error of the computation', async () => {
    const world = new World()
    const error = new Error('broken')

    const failing = errorOf(() => world.gate.run(failAfter(world.clock, 3, error), world.options))
    const done = world.run('a', 30)
    await world.turnUntil([failing, done])

    expect(await failing).to.equal(error)
    expect(await done).to.equal('a')
  })

  it('ends a computation at its next slice when its signal aborts', async () => {
    const world = new World()
    const leaving = new AbortController()
    const run = world.gate.run(world.work('a', 100), { ...world.options, signal: leaving.signal })
    const failing = errorOf(() => run)

    leaving.abort(new RangeError('nobody waits'))
    const turn = world.turn()

    expect(turn).to.equal('')
    expect(await failing).to.be.instanceOf(RangeError)
  })
})

/** Computations of steps of a millisecond each, and what ran in which turn. */
class World {
  readonly clock = new ManualClock()
  readonly options = { clock: this.clock, sliceMs: 4, signal: undefined }
  readonly gate = new TurnGate({ defer: (turn) => this.#deferred.push(turn) })
  /** How long turns were, with what arrived before them. */
  readonly turnsMs: number[] = []
  readonly #deferred: (() => void)[] = []
  #steps: string[] = []
  #turnBeganMs = 0

  run(name: string, steps: number, { stepMs = 1 } = {}): Promise<string> {
    return this.gate.run(this.work(name, steps, stepMs), this.options)
  }

  *work(name: string, steps: number, stepMs = 1): Sliced<string> {
    for (let step = 0; step < steps; step += 1) {
      if (step > 0) yield
      this.clock.advance(stepMs)
      this.#steps.push(name)
    }
    return name
  }

  get deferred(): number {
    return this.#deferred.length
  }

  /** The computations that made steps since the last call, with the number of steps. */
  spent(): string {
    const steps = this.#steps.splice(0)
    return [...new Set(steps)]
      .map((name) => `${name}${steps.filter((one) => one === name).length}`)
      .join(' ')
  }

  turn(): string {
    this.#steps = []
    for (const turn of this.#deferred.splice(0)) turn()
    this.turnsMs.push(this.clock.monotonicMs() - this.#turnBeganMs)
    this.#turnBeganMs = this.clock.monotonicMs()
    return this.spent()
  }

  async turnUntil(runs: readonly Promise<unknown>[]): Promise<void> {
    while (this.#deferred.length > 0) {
      this.turn()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.allSettled(runs)
  }
}

function* failAfter(clock: ManualClock, steps: number, error: Error): Sliced<never> {
  for (let step = 0; step < steps; step += 1) {
    clock.advance(1)
    yield
  }
  throw error
}
