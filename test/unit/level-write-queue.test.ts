import { expect } from 'chai'
import { WriteQueue, bytesOf } from '../../node/storage/write-queue.ts'
import type { Batch } from '../../node/storage/write-queue.ts'
import { del, put } from '../conformance/kv-store.ts'
import { errorOf } from '../harness/error-of.ts'

const KIB = 1024

function gatedQueue() {
  const batches: Batch[] = []
  const gates: PromiseWithResolvers<void>[] = []
  const queue = new WriteQueue((batch) => {
    batches.push(batch)
    const gate = Promise.withResolvers<void>()
    gates.push(gate)
    return gate.promise
  })
  const write = (key: string, sync = false, bytes = 1): Promise<void> =>
    queue.write({ ops: [put(key, '')], sync, bytes })
  const shown = (): string[] =>
    batches.map(
      ({ ops, sync }) =>
        `${ops.map(({ key }) => Buffer.from(key).toString()).join('')}${sync ? '!' : ''}`,
    )
  return { queue, gates, write, shown }
}

describe('WriteQueue', () => {
  it('writes at once when idle, and together what arrives meanwhile', async () => {
    const { gates, write, shown } = gatedQueue()
    const writes = [write('a'), write('b'), write('c', true), write('d')]
    expect(shown()).to.deep.equal(['a'])

    gates[0]?.resolve()
    await writes[0]
    expect(shown()).to.deep.equal(['a', 'bcd!'])

    gates[1]?.resolve()
    await Promise.all(writes)
  })

  it('bounds a group by bytes, but never divides a write', async () => {
    const { gates, write, shown } = gatedQueue()
    const sizes = { a: 1, b: 600, c: 600, d: 5000, e: 400, f: 400 }
    const writes = Object.entries(sizes).map(([key, size]) => write(key, false, size * KIB))
    for (let round = 0; round < 5; round += 1) {
      gates[round]?.resolve()
      await Promise.resolve()
      await Promise.resolve()
    }
    await Promise.all(writes)

    expect(shown()).to.deep.equal(['a', 'b', 'c', 'd', 'ef'])
  })

  it('fails the writes of a failed group alone, and goes on', async () => {
    const { queue, gates, write, shown } = gatedQueue()
    const first = write('a')
    const failing = [write('b'), write('c')].map((pending) => errorOf(() => pending))
    gates[0]?.resolve()
    await first
    gates[1]?.reject(new Error('no'))
    for (const error of await Promise.all(failing)) {
      expect(error).to.be.instanceOf(Error).with.property('message', 'no')
    }

    const last = write('d')
    gates[2]?.resolve()
    await last
    await queue.idle()

    expect(shown()).to.deep.equal(['a', 'bc', 'd'])
  })

  it('refuses a backlog without end', async () => {
    const { write } = gatedQueue()
    for (let count = 0; count < 65_537; count += 1) void write('a')

    expect(await errorOf(() => write('a'))).to.include({ code: 'OVERLOADED' })
  })

  it('counts the bytes of keys and values', () => {
    expect(bytesOf([put('ab', 'cde'), del('fghi')])).to.equal(9)
  })
})
