import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { TIMESTAMP_ZERO } from '../../../../../node/clock/hybrid-clock.ts'
import {
  HeldCalls,
  type ComingShards,
  type HeldRequest,
} from '../../../../../node/shard/remote/held-calls.ts'
import type { ShardId } from '../../../../../node/shard/shard-id.ts'
import { SHARD_ID } from '../../../../support/worlds/remote-world.ts'

const HEAD = { shard: SHARD_ID, epoch: 2, time: TIMESTAMP_ZERO }
const MIB = 1024 * 1024

/** One shard that a test lets come. */
class OneComing implements ComingShards {
  readonly listeners = new Set<() => void>()
  #isComing = true

  isComing(_id: ShardId, _epoch: number): boolean {
    return this.#isComing
  }

  onChange(_id: ShardId, listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  tell(isComing: boolean): void {
    this.#isComing = isComing
    for (const listener of this.listeners) listener()
  }
}

function newRequest(request: Partial<HeldRequest> = {}): HeldRequest {
  const { signal } = new AbortController()
  return { body: Buffer.alloc(10), signal, remainingMs: () => undefined, ...request }
}

function open() {
  const clock = new ManualClock()
  const coming = new OneComing()
  const ended: string[] = []
  const calls = new HeldCalls(coming, clock)
  const hold = (request: HeldRequest, name = 'call'): boolean => {
    const held = calls.hold(HEAD, request)
    void held?.then(() => ended.push(name))
    return held !== undefined
  }
  const passed = async (ms: number): Promise<readonly string[]> => {
    clock.advance(ms)
    for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    return ended
  }
  return { coming, hold, passed }
}

describe('HeldCalls', () => {
  it('holds a call until its shard is here, and no longer', async () => {
    const { coming, hold, passed } = open()
    expect(hold(newRequest())).to.equal(true)
    expect(await passed(500)).to.deep.equal([])

    coming.tell(true)
    expect(await passed(0)).to.deep.equal([])
    coming.tell(false)

    expect(await passed(0)).to.deep.equal(['call'])
    expect(coming.listeners.size).to.equal(0)
    expect(hold(newRequest())).to.equal(false)
  })

  it('gives up after a second, and before the caller does', async () => {
    const { hold, passed } = open()
    hold(newRequest(), 'patient')
    hold(newRequest({ remainingMs: () => 100 }), 'hurried')

    expect(await passed(50)).to.deep.equal(['hurried'])
    expect(await passed(949)).to.deep.equal(['hurried'])
    expect(await passed(1)).to.deep.equal(['hurried', 'patient'])
  })

  it('does not hold the call of a caller that has left', async () => {
    const { hold, passed } = open()
    const caller = new AbortController()
    hold(newRequest({ signal: caller.signal }), 'before')

    caller.abort()
    hold(newRequest({ signal: caller.signal }), 'after')

    expect(await passed(0)).to.deep.equal(['before', 'after'])
  })

  it('holds 256 calls of 16 MiB at most, and others after them', async () => {
    const { coming, hold, passed } = open()
    expect(hold(newRequest({ body: Buffer.alloc(16 * MIB) }))).to.equal(true)
    expect(hold(newRequest())).to.equal(false)
    await passed(1000)
    for (let call = 0; call < 256; call++) expect(hold(newRequest())).to.equal(true)
    expect(hold(newRequest())).to.equal(false)

    coming.tell(false)
    await passed(0)
    coming.tell(true)

    expect(hold(newRequest())).to.equal(true)
  })
})
