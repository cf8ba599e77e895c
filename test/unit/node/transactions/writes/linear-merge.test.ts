import { expect } from 'chai'
import { EnrichedWriter } from '../../../../../node/transactions/writes/enriched-writer.ts'
import { mergePage } from '../../../../../node/transactions/writes/linear-merge.ts'
import type {
  MergeRequest,
  MergeResult,
} from '../../../../../node/transactions/writes/linear-merge-request.ts'
import { jsonOf } from '../../../../../node/shard/format/document-record.ts'
import type { KeyRange } from '../../../../../node/shard/command/key-range.ts'
import type { ScanRow } from '../../../../../node/shard/shard.ts'
import { deleteOp, putOp, ShardWorld } from '../../../../support/worlds/shard-world.ts'
import type { WriteOp } from '../../../../../node/shard/command/command.ts'

/** A table of one shard, and what others do to it between the comparison of a page and its write. */
class Merging implements AsyncDisposable {
  readonly #world: ShardWorld
  #meanwhile: readonly WriteOp[] = []
  comparisons = 0

  constructor(world: ShardWorld) {
    this.#world = world
  }

  static async open(...ops: readonly WriteOp[]): Promise<Merging> {
    const merging = new Merging(await ShardWorld.open(['t']))
    await merging.write(ops)
    return merging
  }

  async write(ops: readonly WriteOp[]): Promise<void> {
    await this.#world.shard('t').write({ checks: [], ops, ttl: undefined })
  }

  /** `values` by key, in order; `meanwhile` is written once, behind the first comparison. */
  async merge(
    values: Readonly<Record<string, number>>,
    meanwhile: readonly WriteOp[] = [],
  ): Promise<MergeResult> {
    this.#meanwhile = meanwhile
    this.comparisons = 0
    const records = Object.entries(values).map(([key, value]) => ({
      key: Buffer.from(key),
      json: Buffer.from(JSON.stringify({ value })),
    }))
    const request: MergeRequest = {
      records,
      lastMergedId: undefined,
      dryRun: false,
      options: { syncLevel: 'write' },
    }
    const { clock, runner } = this.#world
    const writer = new EnrichedWriter({ clock, runner, enrichments: undefined })
    const scan = (_: unknown, range: KeyRange) => this.#scan(range)
    return mergePage({ clock, writer, scan }, this.#world.table('t'), request)
  }

  async content(): Promise<Readonly<Record<string, number>>> {
    const { range } = this.#world.shard('t')
    const pages = await Array.fromAsync(this.#pages(range))
    return Object.fromEntries(
      pages.flat().map(({ key, record }): [string, number] => {
        const { value } = JSON.parse(jsonOf(record).toString())
        return [key.toString(), value]
      }),
    )
  }

  async *#scan(range: KeyRange): AsyncGenerator<ScanRow[]> {
    yield* this.#pages(range)
    this.comparisons++
    const ops = this.#meanwhile
    this.#meanwhile = []
    if (ops.length > 0) await this.write(ops)
  }

  async *#pages(range: KeyRange): AsyncGenerator<ScanRow[]> {
    const at = this.#world.hybridClock.now()
    const { signal } = new AbortController()
    yield* await this.#world.shard('t').scan({ range, at, signal })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#world[Symbol.asyncDispose]()
  }
}

describe('the merge of a page while others write in its range', () => {
  it('keeps documents that they insert, and the next merge finds them', async () => {
    await using merging = await Merging.open(putOp('a', 1), putOp('c', 1))
    const page = { a: 2, c: 1 }

    const first = await merging.merge(page, [putOp('b', 9)])
    const between = await merging.content()
    const second = await merging.merge(page)

    expect(first).to.include({ upserted: 1, skipped: 1, deleted: 0 })
    expect(between).to.deep.equal({ a: 2, b: 9, c: 1 })
    expect(second).to.include({ upserted: 0, skipped: 2, deleted: 1 })
    expect(await merging.content()).to.deep.equal(page)
  })

  it('is compared again when they changed a document that it replaces', async () => {
    await using merging = await Merging.open(putOp('a', 1))

    const result = await merging.merge({ a: 2 }, [putOp('a', 3)])

    expect(merging.comparisons).to.equal(2)
    expect(result).to.include({ upserted: 1 })
    expect(await merging.content()).to.deep.equal({ a: 2 })
  })

  it('is compared again when they made a document equal, or inserted one of its keys', async () => {
    await using merging = await Merging.open(putOp('a', 1), putOp('z', 1))

    const result = await merging.merge({ a: 2, b: 2, z: 1 }, [putOp('a', 2), putOp('b', 3)])

    expect(merging.comparisons).to.equal(2)
    expect(result).to.include({ upserted: 1, skipped: 2 })
    expect(await merging.content()).to.deep.equal({ a: 2, b: 2, z: 1 })
  })

  it('deletes documents that they inserted before it was compared again', async () => {
    await using merging = await Merging.open(putOp('a', 1), putOp('b', 1), putOp('z', 1))

    const result = await merging.merge({ a: 1, z: 1 }, [deleteOp('b'), putOp('c', 5)])

    expect(merging.comparisons).to.equal(2)
    expect(result).to.include({ deleted: 1, skipped: 2 })
    expect(await merging.content()).to.deep.equal({ a: 1, z: 1 })
  })
})
