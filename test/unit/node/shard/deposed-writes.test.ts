// What the writers of a leader hear that stops before their writes are committed: the log that the next leader
// commits decides. The sequence of each test is that of docs/decisions/0076.

import { expect } from 'chai'
import { must } from '../../../../lib/assert.ts'
import type { NodeId } from '../../../../node/replication/core/configuration.ts'
import { FATE_MS_MAX } from '../../../../node/replication/shell/deposed-groups.ts'
import { jsonOf } from '../../../../node/shard/format/document-record.ts'
import type { WriteOutcome } from '../../../../node/shard/command/command.ts'
import { errorOf } from '../../../support/error-of.ts'
import { ReplicatedWorld, type TestNode } from '../../../support/worlds/replicated-world.ts'
import { putOp } from '../../../support/worlds/shard-world.ts'

const KEY = Buffer.from('k')
/** Steps of 50 ms: a promise, an entry and a heartbeat of the next leader. */
const STEPS_MAX = 4

async function valueAt({ shard }: TestNode): Promise<unknown> {
  const record = await shard.read(KEY)
  return record === undefined ? undefined : JSON.parse(jsonOf(record).toString()).value
}

function write({ shard }: TestNode, value: string): Promise<WriteOutcome> {
  return shard.write({ checks: [], ops: [putOp('k', value)], ttl: undefined })
}

interface Opened extends AsyncDisposable {
  readonly world: ReplicatedWorld
  readonly old: TestNode
  readonly next: TestNode
}

async function openWorld(): Promise<Opened> {
  const world = await ReplicatedWorld.open()
  const [old, next] = [world.node('n1'), world.node('n2')]
  await world.until(() => old.isServing)
  await world.when(write(old, 'first'))
  // Nobody knows of a grant before this life.
  for (let step = 0; step < 50; step++) await world.step()
  return { world, old, next, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

/** The journal of `old` has the write, and nobody has acknowledged it. */
async function untilInFlight(world: ReplicatedWorld, { shard }: TestNode): Promise<void> {
  const log = must(shard.replicated, 'a replicated shard').log
  await world.until(() => log.durable > log.committed)
}

const onlyFrom = (node: NodeId) => (from: NodeId) => from === node

describe('a write of a leader that stops', () => {
  it('is answered as done when the next leader has it and commits it', async () => {
    await using opened = await openWorld()
    const { world, old, next } = opened
    world.isLost = (_from, to) => to === 'n1' // the acknowledgements
    const written = write(old, 'second')
    await untilInFlight(world, old)
    world.isLost = () => false

    world.control.elect(next.replica)
    const outcome = await world.when(written)

    expect(outcome.kind).to.equal('written')
    await world.until(() => next.isServing)
    expect(await world.when(valueAt(next))).to.equal('second')
  })

  it('has not happened when the next leader commits something else in its place', async () => {
    await using opened = await openWorld()
    const { world, old, next } = opened
    world.isLost = onlyFrom('n1') // the entries
    const refused = errorOf(() => write(old, 'second'))
    await untilInFlight(world, old)

    world.control.elect(next.replica)
    world.isLost = () => false

    expect(await world.when(refused)).to.include({ code: 'NOT_LEADER' })
    await world.until(() => next.isServing)
    expect(await world.when(valueAt(next))).to.equal('first')
    await world.when(write(next, 'third'))
    expect(await world.when(valueAt(next))).to.equal('third')
  })

  it('has not happened when the journal had not taken it', async () => {
    await using opened = await openWorld()
    const { world, old, next } = opened
    old.disk.hold()
    const taken = write(old, 'second')
    await world.when(old.disk.whenHeld())
    const refused = errorOf(() => write(old, 'third'))
    await world.step()

    world.control.elect(next.replica)

    expect(await refused).to.include({ code: 'NOT_LEADER' }) // while its disk still writes the second
    old.disk.release()
    expect((await world.when(taken)).kind).to.equal('written')
    await world.until(() => next.isServing)
    expect(await world.when(valueAt(next))).to.equal('second')
  })

  it('keeps its writer for a few steps of time', async () => {
    await using opened = await openWorld()
    const { world, old, next } = opened
    let answered = 0
    const writes = Array.from({ length: 20 }, (_one, i) => write(old, `v${i}`))
    for (const one of writes) {
      one.then(
        () => (answered += 1),
        () => (answered += 1),
      )
    }
    const beganMs = world.clock.monotonicMs()

    world.control.elect(next.replica)
    await world.until(() => answered === writes.length)

    expect(world.clock.monotonicMs() - beganMs).to.be.at.most(STEPS_MAX * 50)
    for (const one of await Promise.allSettled(writes)) {
      if (one.status === 'rejected') expect(one.reason).to.include({ code: 'NOT_LEADER' })
    }
  })

  it('is unknown when nobody tells this node of the next leader in time', async () => {
    await using opened = await openWorld()
    const { world, old, next } = opened
    world.isLost = (from, to) => from === 'n1' || to === 'n1'
    const lost = errorOf(() => write(old, 'second'))
    await untilInFlight(world, old)
    const beganMs = world.clock.monotonicMs()

    world.control.elect(next.replica)

    expect(await world.when(lost)).to.include({ code: 'UNAVAILABLE' })
    expect(world.clock.monotonicMs() - beganMs).to.be.within(FATE_MS_MAX, 2 * FATE_MS_MAX)
  })

  it('is unknown when its node closes first', async () => {
    await using opened = await openWorld()
    const { world, old, next } = opened
    world.isLost = (from, to) => from === 'n1' || to === 'n1'
    const lost = errorOf(() => write(old, 'second'))
    await untilInFlight(world, old)
    world.control.elect(next.replica)
    await world.until(() => !old.isServing)
    const beganMs = world.clock.monotonicMs()

    await world.when(must(old.running, 'a replica').host.stop(old.shard.id))

    expect(await world.when(lost)).to.include({ code: 'UNAVAILABLE' })
    expect(world.clock.monotonicMs() - beganMs).to.be.lessThan(FATE_MS_MAX)
  })
})
