import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { must } from '../../../../lib/assert.ts'
import { PartCollector } from '../../../../node/transactions/transaction-part.ts'
import type { RunOutcome } from '../../../../node/transactions/run-outcome.ts'
import { CONTENTION_DEADLINE_MS } from '../../../../node/transactions/transaction-runner.ts'
import { jsonOf } from '../../../../node/shard/format/document-record.ts'
import type { LocalShard } from '../../../../node/shard/local-shard.ts'
import type { Shard } from '../../../../node/shard/shard.ts'
import type { ShardRouter } from '../../../../node/shard/shard-router.ts'
import { failureOf } from '../../../support/failure-of.ts'
import { MovingShard, type MovedCode } from '../../../support/fakes/moving-shard.ts'
import { settle } from '../../../support/servers/swarm-harness.ts'
import { putOp, ShardWorld, withMethods } from '../../../support/worlds/shard-world.ts'

const OPTIONS = { onContention: 'wait', awaitResolution: true } as const

interface Scene extends AsyncDisposable {
  readonly world: ShardWorld
  readonly clock: ManualClock
  moving(name: string): MovingShard
}

async function openMoving(): Promise<Scene> {
  const clock = new ManualClock()
  const moving = new Map<string, MovingShard>()
  const wrap = (shard: LocalShard, name: string): Shard => {
    const made = new MovingShard(shard)
    moving.set(name, made)
    return made.shard
  }
  const world = await ShardWorld.open(['a', 'b'], { clock, wrap })
  return {
    world,
    clock,
    moving: (name) => must(moving.get(name), 'a shard of the world'),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

/** Runs it while time passes. */
async function run(
  { world, clock }: Pick<Scene, 'world' | 'clock'>,
  names: readonly string[],
): Promise<RunOutcome> {
  const collector = new PartCollector()
  for (const name of names) collector.addOp(world.table(name), putOp('k', 'new'))
  const running = world.runner.run(collector.parts, OPTIONS)
  running.catch(() => undefined) // the caller hears of it
  await settle()
  for (let waited = 0; waited < 2 * CONTENTION_DEADLINE_MS; waited += 200) {
    clock.advance(200)
    await settle()
  }
  return running
}

async function valueIn(shard: Shard, key = 'k'): Promise<unknown> {
  const record = await shard.read(Buffer.from(key))
  return record === undefined ? undefined : JSON.parse(jsonOf(record).toString()).value
}

function valuesOf({ world }: Scene): Promise<readonly unknown[]> {
  return Promise.all(['a', 'b'].map((name) => valueIn(world.shard(name))))
}

const CODES: readonly MovedCode[] = ['NOT_LEADER', 'RANGE_MOVED']

for (const code of CODES) {
  describe(`a write that is refused with ${code}`, () => {
    it('is tried again, in one shard', async () => {
      await using scene = await openMoving()
      const moving = scene.moving('a')
      moving.code = code
      moving.refusals.write = 3

      const outcome = await run(scene, ['a'])

      expect(outcome).to.include({ kind: 'committed' })
      expect(moving.calls.write).to.equal(4)
      expect(await valueIn(scene.world.shard('a'))).to.equal('new')
    })

    for (const method of ['prepareInOrder', 'decide'] as const) {
      for (const name of ['a', 'b']) {
        it(`is tried again over two shards, when ${name} refuses ${method}`, async () => {
          await using scene = await openMoving()
          const moving = scene.moving(name)
          moving.code = code
          moving.refusals[method] = 2

          const outcome = await run(scene, ['a', 'b'])

          expect(outcome).to.include({ kind: 'committed' })
          expect(await valuesOf(scene)).to.deep.equal(['new', 'new'])
          const held = ['a', 'b'].map((each) => scene.world.shard(each).led.heldKeys)
          expect(held).to.deep.equal([0, 0])
        })
      }
    }

    it('ends with that code at its deadline, and changes nothing', async () => {
      await using scene = await openMoving()
      const moving = scene.moving('a')
      moving.code = code
      moving.refusals.write = Infinity

      const refused = await failureOf(run(scene, ['a']))

      expect(refused).to.include({ code })
      expect(scene.world.runner.counts.aborted.refused).to.equal(1)
      expect(await valueIn(scene.world.shard('a'))).to.equal(undefined)
    })
  })
}

for (const code of ['OVERLOADED', 'DISK_FULL', 'TOO_FEW_IN_SYNC'] as const) {
  describe(`a commit that is refused with ${code}`, () => {
    it('has not happened, and holds no keys', async () => {
      await using scene = await openMoving()
      const moving = scene.moving('a')
      moving.code = code
      moving.refusals.decide = 1

      const refused = await failureOf(run(scene, ['a', 'b']))

      expect(refused).to.include({ code })
      const held = ['a', 'b'].map((each) => scene.world.shard(each).led.heldKeys)
      expect(held).to.deep.equal([0, 0])
      expect(await valuesOf(scene)).to.deep.equal([undefined, undefined])
      expect(scene.world.runner.counts.aborted.refused).to.equal(1)
    })
  })
}

describe('a write whose outcome is unknown', () => {
  it('is not tried again', async () => {
    let writes = 0
    const write = async (): Promise<never> => {
      writes++
      throw new RangeError('the answer was lost')
    }
    const clock = new ManualClock()
    const wrap = (shard: LocalShard): Shard => withMethods(shard, { write })
    await using world = await ShardWorld.open(['a'], { clock, wrap })

    const failed = await failureOf(run({ world, clock }, ['a']))

    expect(failed).to.be.instanceOf(RangeError)
    expect(writes).to.equal(1)
  })
})

/** `a` owns nothing any more. */
function splitA(local: LocalShard, name: string): Shard {
  if (name !== 'a') return local
  const moving = new MovingShard(local)
  moving.code = 'RANGE_MOVED'
  moving.refusals.write = Infinity
  return moving.shard
}

describe('a write of a shard that was split', () => {
  it('becomes one of both halves, by the fresh map', async () => {
    const clock = new ManualClock()
    const middle = Buffer.from('m')
    let halves: readonly Shard[] | undefined
    const route = (known: ShardRouter): ShardRouter => ({
      shardAt: async (address) => {
        const [left, right] = halves ?? []
        if (left === undefined || right === undefined) return known.shardAt(address)
        return { kind: 'shard', shard: address.key.compare(middle) < 0 ? left : right }
      },
      shardsMeeting: async (interval) =>
        halves === undefined ? known.shardsMeeting(interval) : { kind: 'shards', shards: halves },
    })
    await using world = await ShardWorld.open(['a', 'left', 'right'], {
      clock,
      route,
      wrap: splitA,
    })
    const start = Buffer.alloc(0)
    halves = [
      withMethods(world.shard('left'), { range: { start, end: middle } }),
      withMethods(world.shard('right'), { range: { start: middle, end: undefined } }),
    ]
    const collector = new PartCollector()
    for (const key of ['x', 'b']) collector.addOp(world.table('a'), putOp(key, key))

    const running = world.runner.run(collector.parts, OPTIONS)
    await settle()
    clock.advance(1000)
    const outcome = await running

    expect(outcome).to.include({ kind: 'committed' })
    expect(await valueIn(world.shard('left'), 'b')).to.equal('b')
    expect(await valueIn(world.shard('right'), 'x')).to.equal('x')
    expect(await valueIn(world.shard('left'), 'x')).to.equal(undefined)
  })
})
