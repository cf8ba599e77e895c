import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import type { Paced, Sliced } from '../../../../../lib/sliced.ts'
import {
  SliceScheduler,
  type Slice,
  type SliceRun,
} from '../../../../../node/index/worker/slice-scheduler.ts'
import { errorOf } from '../../../../support/error-of.ts'

describe('SliceScheduler', () => {
  it('gives every search a slice before any has its second', async () => {
    const world = new World()

    const runs = ['a', 'b', 'c'].map((name) => world.run(name, 12))
    await world.turnUntil(runs)

    expect(world.turns).to.deep.equal(['a5', 'b5', 'c5', 'a5', 'b5', 'c5', 'a2 b2 c1', 'c1'])
  })

  it('lets short searches share a slice', async () => {
    const world = new World()

    const runs = ['a', 'b', 'c'].map((name) => world.run(name, 1))
    await world.turnUntil(runs)

    expect(world.turns).to.deep.equal(['a1 b1 c1'])
  })

  it('gives indexing a slice in each turn, however many searches run', async () => {
    const world = new World()

    const runs = [world.run('a', 10), world.run('b', 10), world.run('w', 8, indexing)]
    await world.turnUntil(runs)

    expect(world.turns).to.deep.equal(['a5 w4', 'b5 w4', 'a5', 'b5'])
  })

  it('keeps calls that arrive while it works for the next turn', async () => {
    const world = new World()

    const first = world.run('a', 6)
    world.turn()
    const second = world.run('b', 1)
    await world.turnUntil([first, second])

    expect(world.turns).to.deep.equal(['a5', 'a1 b1'])
  })

  it('tells the end of a computation before the next one of the turn begins', async () => {
    const world = new World()
    const heard: string[] = []
    for (const name of ['a', 'b']) {
      const onDone = (): void => void heard.push(`${name} is told`)
      const work = noting(heard, `${name} begins`)
      world.scheduler.start(work, { onDone, onFailed: unexpected })
    }
    world.turn()

    expect(heard).to.deep.equal(['a begins', 'a is told', 'b begins', 'b is told'])
  })

  it('tells an error, also one of who hears of the end', () => {
    const world = new World()
    const heard: unknown[] = []
    const onFailed = (error: unknown): void => void heard.push(error)
    const [broken, deaf] = [new Error('broken'), new Error('deaf')]
    const onDone = (): void => {
      throw deaf
    }

    world.scheduler.start(failing(broken), { onDone, onFailed })
    world.scheduler.start(answering(42), { onDone, onFailed })
    world.turn()

    expect(heard).to.deep.equal([broken, deaf])
  })

  it('settles with the result or the error of the computation', async () => {
    const world = new World()

    const answered = world.scheduler.run(answering(42))
    const failed = errorOf(() => world.scheduler.run(failing(new Error('broken'))))
    await world.turnUntil([answered, failed])

    expect(await answered).to.equal(42)
    expect(await failed).to.have.property('message', 'broken')
  })

  it('ends an interrupted search at its next slice, and lets it release its resources', async () => {
    const world = new World()
    let stop: Error | undefined
    let isReleased = false
    const interrupt = (): void => {
      if (stop !== undefined) throw stop
    }

    const run = errorOf(() =>
      world.scheduler.run(
        holding(world.clock, () => (isReleased = true)),
        { interrupt },
      ),
    )
    world.turn()
    const wasReleased = isReleased
    stop = new Error('nobody waits')
    await world.turnUntil([run])

    expect(wasReleased).to.equal(false)
    expect(isReleased).to.equal(true)
    expect(await run).to.equal(stop)
  })

  it('never begins a search that is interrupted before its first slice', async () => {
    const world = new World()
    const stop = new Error('nobody waits')

    const run = errorOf(() =>
      world.run('a', 3, {
        interrupt: () => {
          throw stop
        },
      }),
    )
    await world.turnUntil([run])

    expect(await run).to.equal(stop)
    expect(world.turns).to.deep.equal([''])
  })

  it('gives no slice to a computation that waits, and the next one when that is over', async () => {
    const world = new World()
    const there = Promise.withResolvers<void>()

    const waiting = world.scheduler.run(afterwards(there.promise, 42), indexing)
    await world.turnUntil([world.run('a', 7)])
    const begun = [...world.begun]
    there.resolve()
    await there.promise
    await world.turnUntil([waiting])

    expect(begun).to.deep.equal(['search a', 'indexing', 'search a'])
    expect(await waiting).to.equal(42)
    expect(world.begun.at(-1)).to.equal('indexing')
  })

  it('reports the operation and the duration of each slice', async () => {
    const world = new World()

    await world.turnUntil([world.run('a', 7), world.run('w', 3, indexing)])

    expect(world.begun).to.deep.equal(['search a', 'indexing', 'search a'])
    expect(world.slices).to.deep.equal([
      { label: 'search a', ms: 5 },
      { label: 'indexing', ms: 3 },
      { label: 'search a', ms: 2 },
    ])
  })
})

const indexing: SliceRun<string> = { priority: 'indexing', label: 'indexing' }

/** Computations of steps of a millisecond each, and what ran in which turn. */
class World {
  readonly clock = new ManualClock()
  readonly turns: string[] = []
  readonly begun: unknown[] = []
  readonly slices: Slice<string>[] = []
  readonly scheduler = new SliceScheduler({
    clock: this.clock,
    defer: (turn) => this.#deferred.push(turn),
    onBegin: (label) => this.begun.push(label),
    onEnd: (slice) => this.slices.push(slice),
  })
  readonly #deferred: (() => void)[] = []
  #steps: string[] = []

  run(name: string, steps: number, options: SliceRun<string> = {}): Promise<void> {
    return this.scheduler.run(this.#work(name, steps), { label: `search ${name}`, ...options })
  }

  turn(): void {
    this.#steps = []
    for (const turn of this.#deferred.splice(0)) turn()
    this.turns.push(counted(this.#steps))
  }

  async turnUntil(runs: readonly Promise<unknown>[]): Promise<void> {
    while (this.#deferred.length > 0) this.turn()
    await Promise.allSettled(runs)
  }

  *#work(name: string, steps: number): Sliced<void> {
    for (let step = 0; step < steps; step += 1) {
      if (step > 0) yield
      this.clock.advance(1)
      this.#steps.push(name)
    }
  }
}

/** Runs of equal names as a name and a count. */
function counted(steps: readonly string[]): string {
  const names = [...new Set(steps)]
  return names.map((name) => `${name}${steps.filter((one) => one === name).length}`).join(' ')
}

function unexpected(error: unknown): never {
  return expect.fail(String(error))
}

function* noting(heard: string[], what: string): Sliced<void> {
  heard.push(what)
  yield
}

function* answering<Result>(result: Result): Sliced<Result> {
  yield
  return result
}

function* afterwards<Result>(promise: Promise<void>, result: Result): Paced<Result> {
  yield promise
  return result
}

function* failing(error: Error): Sliced<never> {
  yield
  throw error
}

function* holding(clock: ManualClock, release: () => void): Sliced<never> {
  try {
    for (;;) {
      clock.advance(10)
      yield
    }
  } finally {
    release()
  }
}
