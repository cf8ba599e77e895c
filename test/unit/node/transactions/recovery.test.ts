import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { TIMESTAMP_ZERO } from '../../../../node/clock/hybrid-clock.ts'
import { PartCollector } from '../../../../node/transactions/transaction-part.ts'
import { jsonOf } from '../../../../node/shard/format/document-record.ts'
import { keyspaceRange } from '../../../../node/shard/format/keyspace.ts'
import { TRANSACTION_SILENCE_MAX_MS } from '../../../../node/shard/push-responder.ts'
import type { TransactionId } from '../../../../node/shard/command/transaction-id.ts'
import { errorOf } from '../../../support/error-of.ts'
import { putOp, ShardWorld } from '../../../support/worlds/shard-world.ts'
import {
  documentOf,
  insert,
  PROPOSE,
  settle,
  SwarmHarness,
  WRITE,
  writesOf,
} from '../../../support/servers/swarm-harness.ts'

const key = Buffer.from('k')
const anchor = { tableId: 'a', key }

async function valueAt(world: ShardWorld, name: string): Promise<unknown> {
  const record = await world.shard(name).read(key)
  return record === undefined ? undefined : JSON.parse(jsonOf(record).toString()).value
}

function prepareAt(world: ShardWorld, name: string, transactionId: TransactionId) {
  const participants = ['a', 'b'].map((tableId) => ({ tableId, first: key, last: key }))
  const begin = name === 'a' ? { participants } : undefined
  const ops = [putOp('k', 'new')]
  const command = { transactionId, anchor, begin, checks: [], ops, ttl: undefined }
  return world.shard(name).prepare(command)
}

function decideAt(world: ShardWorld, transactionId: TransactionId, decision: 'commit' | 'abort') {
  const commitAtLeast = TIMESTAMP_ZERO
  return world.shard('a').decide({ transactionId, anchor: key, decision, commitAtLeast })
}

function passSilence(world: ShardWorld): void {
  if (!(world.clock instanceof ManualClock)) throw new TypeError('time must be in our hands')
  world.clock.advance(TRANSACTION_SILENCE_MAX_MS + 1)
}

async function heldIn(world: ShardWorld): Promise<number> {
  let held = 0
  for (const shard of world.local.values()) {
    await shard.settled()
    for await (const page of shard.store.pages(keyspaceRange('intents'))) held += page.length
  }
  return held
}

describe('a transaction whose coordinator died', () => {
  it('is left alone while its coordinator may still be alive', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const id = world.newTransactionId()
    await prepareAt(world, 'a', id)
    await prepareAt(world, 'b', id)

    await world.recovery.run()

    expect(await decideAt(world, id, 'commit')).to.include({ state: 'committed' })
  })

  it('is aborted by recovery after its silence', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const id = world.newTransactionId()
    await prepareAt(world, 'a', id)
    await prepareAt(world, 'b', id)
    passSilence(world)

    await world.recovery.run()

    expect(await heldIn(world)).to.equal(0)
    expect(await decideAt(world, id, 'commit')).to.deep.equal({ state: 'aborted' })
  })

  it('is aborted by a reader that meets its intent after the silence', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const id = world.newTransactionId()
    await prepareAt(world, 'a', id)
    await prepareAt(world, 'b', id)
    passSilence(world)

    expect(await valueAt(world, 'b')).to.equal(undefined)

    expect(await decideAt(world, id, 'commit')).to.deep.equal({ state: 'aborted' })
  })

  it('cannot begin after a reader met its intent before its record existed (INV-T7)', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const id = world.newTransactionId()
    await prepareAt(world, 'b', id)
    passSilence(world)

    await world.recovery.run()

    expect(await prepareAt(world, 'a', id)).to.deep.equal({ kind: 'finished' })
    expect(await prepareAt(world, 'b', id)).to.deep.equal({ kind: 'finished' })
    expect(await heldIn(world)).to.equal(0)
  })

  it('ends as it was decided when its coordinator died after the decision', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const id = world.newTransactionId()
    await prepareAt(world, 'a', id)
    await prepareAt(world, 'b', id)
    await decideAt(world, id, 'commit')
    await world.restart()

    await world.recovery.runAtStart()

    expect([await valueAt(world, 'a'), await valueAt(world, 'b')]).to.deep.equal(['new', 'new'])
    expect(await heldIn(world)).to.equal(0)
  })
})

describe('the recovery at the start', () => {
  for (const isOnlyProcess of [true, false]) {
    const does = isOnlyProcess ? 'ends at once' : 'leaves alone'
    const others = isOnlyProcess ? 'no other process runs' : 'other processes may run'

    it(`${does} a transaction with a recent heartbeat, where ${others}`, async () => {
      await using world = await ShardWorld.open(['a', 'b'], { isOnlyProcess })
      const id = world.newTransactionId()
      await prepareAt(world, 'a', id)
      await prepareAt(world, 'b', id)

      await world.recovery.runAtStart()

      const state = isOnlyProcess ? 'aborted' : 'committed'
      expect(await decideAt(world, id, 'commit')).to.include({ state })
    })
  }
})

describe('late messages of a transaction', () => {
  for (const decision of ['commit', 'abort'] as const) {
    it(`lay no intent after it was fully resolved with ${decision} (INV-T7)`, async () => {
      await using world = await ShardWorld.open(['a', 'b'])
      const id = world.newTransactionId()
      await prepareAt(world, 'a', id)
      await prepareAt(world, 'b', id)
      const decided = await decideAt(world, id, decision)
      const participants = ['a', 'b'].map((tableId) => ({ tableId, first: key, last: key }))
      const ended = { transactionId: id, anchor, participants }
      await world.finisher.finish(ended, decided, { isAwaited: true }).done

      for (const name of ['a', 'b']) {
        expect(await prepareAt(world, name, id)).to.deep.equal({ kind: 'finished' })
      }
      expect(await decideAt(world, id, 'abort')).to.deep.equal(decided)
      expect(await decideAt(world, id, 'commit')).to.deep.equal(decided)
      expect(await heldIn(world)).to.equal(0)
    })
  }

  it('lay no intent when the abort came first, even in the same group', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const id = world.newTransactionId()

    const [decided, prepared] = await Promise.all([
      decideAt(world, id, 'abort'),
      prepareAt(world, 'a', id),
    ])

    expect(decided).to.deep.equal({ state: 'aborted' })
    expect(prepared).to.deep.equal({ kind: 'finished' })
    expect(await heldIn(world)).to.equal(0)
  })

  it('agree on one decision when commit and abort race', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const id = world.newTransactionId()
    await prepareAt(world, 'a', id)
    await prepareAt(world, 'b', id)

    const [one, other] = await Promise.all([
      decideAt(world, id, 'abort'),
      decideAt(world, id, 'commit'),
    ])

    expect(one).to.deep.equal({ state: 'aborted' })
    expect(other).to.deep.equal({ state: 'aborted' })
  })

  it('get the first answer again when a prepare is repeated', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const id = world.newTransactionId()
    const first = await prepareAt(world, 'a', id)

    expect(await prepareAt(world, 'a', id)).to.deep.equal(first)
  })

  it('commit it above the timestamp of every reader that saw it pending', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const id = world.newTransactionId()
    await prepareAt(world, 'a', id)
    await prepareAt(world, 'b', id)
    const at = world.hybridClock.now()
    const { range } = world.shard('b')
    const { signal } = new AbortController()

    const rows = await Array.fromAsync(await world.shard('b').scan({ range, at, signal }))
    const decided = await decideAt(world, id, 'commit')

    expect(rows.flat()).to.deep.equal([])
    expect(decided.state === 'committed' && decided.commitTs > at).to.equal(true)
  })
})

describe('a write over several shards', () => {
  it('begins again when the machine slept past the age at which a prepare is refused', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const collector = new PartCollector()
    collector.addOp(world.table('a'), putOp('k', 'new'))
    collector.addOp(world.table('b'), putOp('k', 'new'))
    world.disk.hold('before')
    const blocking = world.shard('a').write({ checks: [], ops: [putOp('z', 1)], ttl: undefined })
    await world.disk.whenHeld()
    const options = { onContention: 'wait', awaitResolution: true } as const
    const running = world.runner.run(collector.parts, options)
    await settle()
    if (world.clock instanceof ManualClock) {
      world.clock.suspend(2 * 3_600_000)
      world.clock.advance(1000)
    }
    // The bound follows time, and with it the stamps.
    await world.hybridClock.keepAhead()
    world.disk.release()
    await blocking

    expect(await running).to.include({ kind: 'committed' })
  })
})

describe('a participant that does not come back', () => {
  it('delays neither the start nor the other shards', async () => {
    await using harness = await SwarmHarness.open()
    const { store, disk } = harness
    await store.createTable('a', {})
    await store.createTable('b', {})
    const lostShard = Object.keys((await store.getTable('b')).shards)[0] ?? ''
    const both = ['a', 'b'].map((table) => writesOf(table, { inserts: [insert('k', {})] }))
    // Answered when it is decided: the power fails before a resolution is durable.
    await store.crossBatch(both, PROPOSE)
    await harness.crash()
    disk.restart()
    await disk.destroy(lostShard)

    await harness.start()

    expect(await documentOf(harness.store, 'a', 'k')).to.not.equal(undefined)
    const refused = await errorOf(() => documentOf(harness.store, 'b', 'k'))
    expect(refused).to.include({ code: 'UNAVAILABLE' })
    await harness.store.batch(writesOf('a', { inserts: [insert('other', {})] }), WRITE)
  })
})

describe('a table that is dropped while transactions begin in it', () => {
  it('refuses them instead of forgetting their outcomes', async () => {
    await using world = await ShardWorld.open(['a', 'b'])
    const id = world.newTransactionId()
    const early = prepareAt(world, 'a', id)

    await world.shard('a').led.seal()

    const late = await errorOf(() => prepareAt(world, 'a', world.newTransactionId()))
    expect(late).to.include({ code: 'NOT_FOUND' })
    expect(await early).to.include({ kind: 'prepared' })
    await world.recovery.drain(world.shard('a').led)
    expect(world.shard('a').led.unfinishedTransactions()).to.deep.equal([])
  })
})
