import { expect } from 'chai'
import type { Paced } from '../../../../../lib/sliced.ts'
import { Upkeep, type NextMerge } from '../../../../../node/index/files/upkeep.ts'

/** An index whose flushes and merges take a few steps, and wait for the disk where the test says. */
class World {
  readonly heard: string[] = []
  readonly upkeep = new Upkeep(() => this.heard.push('ready'))
  readonly #waiting = new Map<string, () => void>()
  readonly #lanes: NextMerge[]

  constructor(merges: readonly (readonly string[])[] = [['m']]) {
    this.#lanes = merges.map((names) => {
      const left = [...names]
      return () => {
        const name = left.shift()
        return name === undefined ? undefined : this.#merge(name)
      }
    })
  }

  beginFlush(name: string): void {
    this.upkeep.beginFlush(this.#flush(name))
  }

  /** All steps that there are now. */
  run(): void {
    while (this.upkeep.step(this.#lanes));
  }

  /** The disk has done what is waited for under a name. */
  async synced(name: string): Promise<void> {
    this.#waiting.get(name)?.()
    this.#waiting.delete(name)
    await Promise.resolve()
    await Promise.resolve()
  }

  get told(): readonly string[] {
    return this.heard.filter((one) => one !== 'ready')
  }

  *#flush(name: string): Paced<void> {
    this.heard.push(`${name} begins`)
    yield
    yield this.#sync(name)
    this.heard.push(`${name} lists`)
    yield this.#sync(`${name} list`)
    this.heard.push(`${name} ends`)
  }

  *#merge(name: string): Paced<void> {
    this.heard.push(`${name} begins`)
    yield this.#sync(name)
    this.heard.push(`${name} is written`)
    yield* this.upkeep.endMerge(() => this.#list(name))
    this.heard.push(`${name} ends`)
  }

  *#list(name: string): Paced<void> {
    this.heard.push(`${name} lists`)
    yield this.#sync(`${name} list`)
  }

  #sync(name: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(name, resolve))
  }
}

describe('the upkeep of an index', () => {
  it('does the steps of a merge while a flush waits for the disk, but for its end', async () => {
    const world = new World()
    world.beginFlush('f')
    world.run()
    await world.synced('m')
    world.run()

    expect(world.told).to.deep.equal(['f begins', 'm begins', 'm is written'])
  })

  it('ends a merge that is ready as soon as the flush is over', async () => {
    const world = new World()
    world.beginFlush('f')
    world.run()
    await world.synced('m')
    world.run()
    await world.synced('f')
    world.run()
    await world.synced('f list')
    world.run()
    world.beginFlush('g')
    world.run()
    await world.synced('m list')
    world.run()

    expect(world.told.slice(3)).to.deep.equal([
      'f lists',
      'f ends',
      'm lists',
      'g begins',
      'm ends',
    ])
  })

  it('lists nothing of a flush that begins while a merge ends', async () => {
    const world = new World()
    world.run()
    await world.synced('m')
    world.run()
    world.beginFlush('f')
    world.run()
    const before = [...world.told]
    await world.synced('m list')
    world.run()
    await world.synced('f')
    world.run()

    expect(before).to.deep.equal(['m begins', 'm is written', 'm lists', 'f begins'])
    expect(world.told.slice(4)).to.deep.equal(['m ends', 'f lists'])
  })

  it('ends one merge after the other', async () => {
    const world = new World([['m'], ['n']])
    world.run()
    await world.synced('n')
    world.run()
    await world.synced('m')
    world.run()
    const before = [...world.told]
    await world.synced('n list')
    world.run()

    expect(before.slice(2)).to.deep.equal(['n is written', 'n lists', 'm is written'])
    expect(world.told.slice(5)).to.deep.equal(['n ends', 'm lists'])
  })

  it('ends merges beside writers that never pause', async () => {
    const world = new World([['m', 'n', 'o']])
    world.run()
    for (let flush = 0; flush < 12; flush += 1) {
      world.beginFlush(`f${flush}`)
      for (const what of ['m', 'n', 'o', `f${flush}`, `f${flush} list`]) {
        world.run()
        await world.synced(what)
        await world.synced(`${what} list`)
      }
      world.run()
      if (world.upkeep.isFlushing) break
    }

    expect(world.told.filter((one) => one.endsWith('ends'))).to.include.members([
      'm ends',
      'n ends',
      'o ends',
    ])
  })

  it('says that there is a step again when a wait is over', async () => {
    const world = new World([])
    world.beginFlush('f')
    world.run()
    expect(world.heard).to.not.include('ready')

    await world.synced('f')

    expect(world.heard).to.include('ready')
    expect(world.upkeep.flushWaitsFor).to.equal(undefined)
  })
})
