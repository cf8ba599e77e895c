import { expect } from 'chai'
import {
  documentOf,
  insert,
  settle,
  SwarmHarness,
  WRITE,
  writesOf,
} from '../harness/swarm-harness.ts'

const ONCE = { ...WRITE, idempotency: { key: 'once', digest: 'd' } }

describe('a commit that is sent twice at once under one Idempotency-Key', () => {
  it('gives both the answer of its one effect (INV-T12)', async () => {
    await using harness = await SwarmHarness.open()
    const { store, disk } = harness
    await store.createTable('t', { split_keys: ['m'] })
    await store.crossBatch([], { ...WRITE, idempotency: { key: 'warm', digest: 'w' } })
    const claim = { table: 't', key: Buffer.from('a'), version: 0n }
    const writes = [writesOf('t', { inserts: [insert('a', {}), insert('z', {})] })]
    disk.hold('after')
    const first = store.commit([claim], writes, ONCE)
    await disk.whenHeld()
    const second = store.commit([claim], writes, ONCE)
    await settle()
    disk.release()
    await harness.advance(1000, 10)

    const [one, other] = await Promise.all([first, second])

    expect(one).to.include({ status: 'committed' })
    expect(other).to.deep.equal(one)
    expect(await documentOf(store, 't', 'a')).to.not.equal(undefined)
  })
})
