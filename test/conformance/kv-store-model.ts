import { expect } from 'chai'
import * as fc from 'fast-check'
import type { KvOp, KvRange, KvStore } from '../../node/storage/kv-store.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Random writes and ranges against a map of hexadecimal texts, whose order is that of the bytes. */
export function describeKvModel(open: () => Promise<KvStore>): void {
  it('agrees with a simple map under random writes and ranges', async () => {
    const key = fc.uint8Array({ minLength: 1, maxLength: 2, max: 5 }).map((raw) => Buffer.from(raw))
    const op: fc.Arbitrary<KvOp> = fc.oneof(
      fc.record({ type: fc.constant('put' as const), key, value: fc.uint8Array({ maxLength: 4 }) }),
      fc.record({ type: fc.constant('del' as const), key }),
    )
    const bounds = fc.oneof(
      fc.record({ gte: key, lt: key }, { requiredKeys: [] }),
      fc.record({ gt: key, lte: key }, { requiredKeys: [] }),
    )
    const rest = fc.record({ reverse: fc.boolean(), limit: fc.nat(6) }, { requiredKeys: [] })
    const writes = fc.array(fc.array(op, { maxLength: 30 }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(writes, bounds, rest, async (batches, bound, order) => {
        await using store = await open()
        const model = new Map<string, string>()
        await Promise.all(batches.map((ops) => store.write(ops, { sync: false })))
        for (const change of batches.flat()) applyToModel(model, change)

        const range = { ...bound, ...order }
        const found = (await Array.fromAsync(store.pages(range))).flat()
        const pairs = found.map(([k, v]) => [k.toString('hex'), v.toString('hex')])

        expect(pairs).to.deep.equal(walkModel(model, range))
      }),
      { numRuns: 60 },
    )
  })
}

function applyToModel(model: Map<string, string>, op: KvOp): void {
  const key = Buffer.from(op.key).toString('hex')
  if (op.type === 'del') model.delete(key)
  else model.set(key, Buffer.from(op.value).toString('hex'))
}

function walkModel(model: ReadonlyMap<string, string>, range: KvRange): [string, string][] {
  const kept = [...model].filter(
    ([key]) =>
      (range.gte === undefined || key >= hex(range.gte)) &&
      (range.gt === undefined || key > hex(range.gt)) &&
      (range.lt === undefined || key < hex(range.lt)) &&
      (range.lte === undefined || key <= hex(range.lte)),
  )
  const sorted = kept.toSorted(([a], [b]) => (a < b ? -1 : 1))
  const ordered = range.reverse === true ? sorted.toReversed() : sorted
  return ordered.slice(0, range.limit ?? ordered.length)
}
