import { expect } from 'chai'
import { ServiceError } from '../../../../../lib/errors.ts'
import type { HashRequest } from '../../../../../node/replication/snapshot/snapshot-messages.ts'
import type { SnapshotSource } from '../../../../../node/replication/snapshot/snapshot-source.ts'
import type { KvOp } from '../../../../../node/storage/kv-store.ts'
import { errorOf } from '../../../../support/error-of.ts'
import {
  LOG,
  memoryStore,
  POSITION,
  SnapshotWorld,
  storeOps,
} from '../../../../support/worlds/snapshot-world.ts'

const OPS = storeOps(100, 100)
const never = new AbortController().signal

/** A document with a flipped bit. */
function damaged(ops: readonly KvOp[]): readonly KvOp[] {
  return ops.map((op) => {
    if (op.type !== 'put' || !Buffer.from(op.key).includes('000042')) return op
    const value = Buffer.from(op.value)
    value[7] = (value[7] ?? 0) ^ 8
    return { ...op, value }
  })
}

function failing(code: 'UNAVAILABLE' | 'NOT_FOUND') {
  return () => Promise.reject(new ServiceError(code, 'no answer'))
}

describe('the comparison of replicas', () => {
  const worlds: SnapshotWorld[] = []

  afterEach(async () => {
    for (const world of worlds.splice(0)) await world[Symbol.asyncDispose]()
  })

  async function node(ops: readonly KvOp[]): Promise<SnapshotSource> {
    const world = await SnapshotWorld.open()
    worlds.push(world)
    world.replicas.set(LOG, world.replica(await memoryStore(ops)))
    return world.source()
  }

  async function compared(ops: readonly KvOp[]) {
    const [one, other] = [await node(OPS), await node(ops)]
    const ask = (asked: HashRequest) => other.hashes.hashAt(asked, never)
    return one.hashes.compare(LOG, [ask], never)
  }

  it('finds them equal', async () => {
    const { position, others } = await compared(OPS)

    expect(position).to.deep.equal(POSITION)
    expect(others).to.deep.equal([{ kind: 'equal' }])
  })

  it('finds a flipped bit', async () => {
    const { hash, others } = await compared(damaged(OPS))

    expect(others[0]).to.include({ kind: 'different' })
    expect(others[0]).to.have.property('hash').which.does.not.deep.equal(hash)
  })

  it('finds another entry of the same number', async () => {
    const position = { ...POSITION, crc: 5 }

    const { others } = await compared(storeOps(100, 100, position))

    expect(others[0]).to.include({ kind: 'different' })
  })

  it('knows nothing when the other one is beyond', async () => {
    const position = { ...POSITION, sequence: POSITION.sequence + 1 }

    const { others } = await compared(storeOps(100, 100, position))

    expect(others[0]).to.include({ kind: 'unknown' })
  })

  it('knows nothing when the other node is away, and fails for other reasons', async () => {
    const one = await node(OPS)
    const away = await one.hashes.compare(LOG, [failing('UNAVAILABLE')], never)
    const error = await errorOf(() => one.hashes.compare(LOG, [failing('NOT_FOUND')], never))

    expect(away.others).to.deep.equal([{ kind: 'unknown', reason: 'no answer' }])
    expect(error).to.include({ code: 'NOT_FOUND' })
  })

  it('refuses more than a few at once', async () => {
    const one = await node(OPS)
    const wanted = { logId: LOG, sequence: POSITION.sequence }
    const asked = Array.from({ length: 5 }, () => one.hashes.hashAt(wanted, never))

    const outcomes = await Promise.allSettled(asked)

    expect(outcomes.map(({ status }) => status).toSorted()).to.deep.equal([
      ...Array.from({ length: 4 }, () => 'fulfilled'),
      'rejected',
    ])
    await one.hashes.hashAt(wanted, never)
  })
})
