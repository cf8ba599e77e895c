import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { TIMESTAMP_ZERO } from '../../../../node/clock/hybrid-clock.ts'
import { PartCollector } from '../../../../node/transactions/transaction-part.ts'
import { CONTENTION_DEADLINE_MS } from '../../../../node/transactions/transaction-runner.ts'
import type { Decision } from '../../../../node/shard/command/command.ts'
import { jsonOf } from '../../../../node/shard/format/document-record.ts'
import { TRANSACTION_SILENCE_MAX_MS } from '../../../../node/shard/push-responder.ts'
import type { ShardRouter } from '../../../../node/shard/shard-router.ts'
import type { TransactionId } from '../../../../node/shard/command/transaction-id.ts'
import { errorOf } from '../../../support/error-of.ts'
import { settle } from '../../../support/servers/swarm-harness.ts'
import { putOp, ShardWorld } from '../../../support/worlds/shard-world.ts'

const key = Buffer.from('k')
const anchor = { tableId: 'a', key }
const participants = ['a', 'b'].map((tableId) => ({ tableId, first: key, last: key }))

const UNKNOWN = { kind: 'unknown', reason: 'a test' } as const

/** A map that can lose sight of every shard. */
class LosableMap {
  isLost = false

  readonly wrap = (known: ShardRouter): ShardRouter => ({
    shardAt: async (address) => (this.isLost ? UNKNOWN : known.shardAt(address)),
    shardsMeeting: async (interval) => (this.isLost ? UNKNOWN : known.shardsMeeting(interval)),
  })
}

interface Scene extends AsyncDisposable {
  readonly world: ShardWorld
  readonly map: LosableMap
  readonly clock: ManualClock
  readonly id: TransactionId
  readonly decision: Decision
}

/** A transaction over `a` and `b`, committed and told to nobody; nobody finds any shard. */
async function openLost(): Promise<Scene> {
  const map = new LosableMap()
  const clock = new ManualClock()
  const world = await ShardWorld.open(['a', 'b'], { route: map.wrap, clock })
  const id = world.newTransactionId()
  for (const name of ['a', 'b']) {
    const begin = name === 'a' ? { participants } : undefined
    const rest = { checks: [], ops: [putOp('k', 'new')], ttl: undefined }
    await world.shard(name).prepare({ transactionId: id, anchor, begin, ...rest })
  }
  const decision = await world.shard('a').decide({
    transactionId: id,
    anchor: key,
    decision: 'commit',
    commitAtLeast: TIMESTAMP_ZERO,
  })
  map.isLost = true
  return {
    world,
    map,
    clock,
    id,
    decision,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

async function valueAt(world: ShardWorld, name: string): Promise<unknown> {
  const record = await world.shard(name).read(key)
  return record === undefined ? undefined : JSON.parse(jsonOf(record).toString()).value
}

/** What is found when the map is whole again, and recovery has had its round. */
async function valuesInTheEnd({ world, map, clock }: Scene): Promise<readonly unknown[]> {
  map.isLost = false
  clock.advance(TRANSACTION_SILENCE_MAX_MS + 1)
  await world.recovery.run()
  return [await valueAt(world, 'a'), await valueAt(world, 'b')]
}

const IN_PLACE = ['new', 'new']

describe('a committed transaction that a stale map hides', () => {
  it('is not read as aborted: its readers are refused with UNAVAILABLE', async () => {
    await using scene = await openLost()
    const { world } = scene

    const refused = await errorOf(() => valueAt(world, 'b'))

    expect(refused).to.include({ code: 'UNAVAILABLE' })
    expect(await valuesInTheEnd(scene)).to.deep.equal(IN_PLACE)
  })

  it('is not scanned as aborted', async () => {
    await using scene = await openLost()
    const { world } = scene
    const { signal } = new AbortController()
    const { range } = world.shard('b')

    const at = world.hybridClock.now()
    const refused = await errorOf(() => world.shard('b').scan({ range, at, signal }))

    expect(refused).to.include({ code: 'UNAVAILABLE' })
    expect(await valuesInTheEnd(scene)).to.deep.equal(IN_PLACE)
  })

  it('is not aborted by recovery, which tries again later', async () => {
    await using scene = await openLost()
    const { world, clock } = scene
    clock.advance(TRANSACTION_SILENCE_MAX_MS + 1)

    await world.recovery.run()

    expect(world.shard('a').led.unfinishedTransactions()).to.have.length(1)
    expect(world.shard('b').led.holders()).to.have.length(1)
    expect(await valuesInTheEnd(scene)).to.deep.equal(IN_PLACE)
  })

  it('is not cleared away by a commit that meets it', async () => {
    await using scene = await openLost()
    const { world } = scene
    const collector = new PartCollector()
    collector.addOp(world.table('b'), putOp('k', 'other'))

    const outcome = await world.runner.run(collector.parts, {
      onContention: 'refuse',
      awaitResolution: true,
    })

    expect(outcome).to.include({ kind: 'conflict', reason: 'key_held' })
    expect(await valuesInTheEnd(scene)).to.deep.equal(IN_PLACE)
  })

  it('is not cleared away by a write that waits for it: CONFLICT at its deadline', async () => {
    await using scene = await openLost()
    const { world, clock } = scene
    const collector = new PartCollector()
    collector.addOp(world.table('b'), putOp('k', 'other'))
    const options = { onContention: 'wait', awaitResolution: true } as const

    const writing = errorOf(() => world.runner.run(collector.parts, options))
    for (let waited = 0; waited <= CONTENTION_DEADLINE_MS; waited += 1000) {
      await settle()
      clock.advance(1000)
    }

    expect(await writing).to.include({ code: 'CONFLICT' })
    expect(await valuesInTheEnd(scene)).to.deep.equal(IN_PLACE)
  })

  it('keeps its record while a participant cannot be reached (INV-T6)', async () => {
    await using scene = await openLost()
    const { world, id, decision } = scene
    const ended = { transactionId: id, anchor, participants }

    await world.finisher.finish(ended, decision, { isAwaited: true }).done
    await world.finisher.forgetResolved()

    expect(world.shard('a').led.unfinishedTransactions()).to.have.length(1)
    expect(await valuesInTheEnd(scene)).to.deep.equal(IN_PLACE)
  })
})
