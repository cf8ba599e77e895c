import { expect } from 'chai'
import { ServiceError } from '../../../../../lib/errors.ts'
import type { ScanRow } from '../../../../../node/shard/shard.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { RemoteBench } from '../../../../support/worlds/remote-bench.ts'
import { EVERYTHING } from '../../../../support/worlds/remote-world.ts'
import { deleteOp, putOp, withMethods } from '../../../../support/worlds/shard-world.ts'

const KEYS = Array.from({ length: 300 }, (_, at) => `key-${String(at).padStart(4, '0')}`)
const { signal } = new AbortController()

/** Documents of more bytes than a stream holds on its way. */
async function fill({ local }: RemoteBench): Promise<void> {
  const value = 'x'.repeat(20_000)
  for (let at = 0; at < KEYS.length; at += 50) {
    const ops = KEYS.slice(at, at + 50).map((key) => putOp(key, value))
    await local.write({ checks: [], ops, ttl: undefined })
  }
}

const keysOf = (rows: readonly ScanRow[]) => rows.map(({ key }) => key.toString())

describe('a scan of a remote shard', () => {
  it('continues behind its last row when its leader goes away, and shows the same timestamp', async () => {
    await using bench = await RemoteBench.open()
    await fill(bench)
    const { world, remote, hybridClock, local, watched } = bench
    const at = hybridClock.readPoint()
    const pages = await world.settled(remote.scan({ range: EVERYTHING, at, signal }))
    const keys: string[] = []
    let isCut = false
    const reading = (async () => {
      for await (const page of pages) {
        keys.push(...keysOf(page))
        if (isCut) continue
        isCut = true
        const ops = [deleteOp('key-0299'), putOp('zzz', 1)]
        await local.write({ checks: [], ops, ttl: undefined })
        world.places.leader = { node: 'b', epoch: 2 }
        world.cut('a')
      }
    })()

    await world.settled(reading)

    expect(keys).to.deep.equal(KEYS)
    expect(watched.calls).to.deep.equal(['scan', 'scan'])
  })

  it('passes a refusal in its middle on', async () => {
    await using bench = await RemoteBench.open()
    const { world, remote, hybridClock } = bench
    const refusal = new ServiceError('CORRUPTION', 'a damaged block')
    async function* damaged(): AsyncGenerator<ScanRow[]> {
      yield [{ key: Buffer.from('a'), record: Buffer.alloc(30) }]
      throw refusal
    }
    const shard = withMethods(bench.local, { scan: async () => damaged() })
    bench.found.a = { kind: 'here', shard, epoch: 1 }
    const at = hybridClock.readPoint()
    const pages = await world.settled(remote.scan({ range: EVERYTHING, at, signal }))

    const error = await errorOf(() => world.settled(Array.fromAsync(pages)))

    expect(error).to.include({ code: 'CORRUPTION', message: 'a damaged block' })
  })

  it('ends with the reason of its signal, and ends the walk at the other node', async () => {
    await using bench = await RemoteBench.open()
    await fill(bench)
    const { world, remote, hybridClock } = bench
    const caller = new AbortController()
    const ended = watchEnd(bench)
    const at = hybridClock.readPoint()
    const options = { range: EVERYTHING, at, signal: caller.signal }
    const pages = await world.settled(remote.scan(options))
    const iterator = pages[Symbol.asyncIterator]()
    await world.settled(iterator.next())

    caller.abort(new RangeError('gone'))
    const draining = (async () => {
      while ((await iterator.next()).done !== true);
    })()

    expect(await errorOf(() => world.settled(draining))).to.equal(caller.signal.reason)
    await world.until(() => ended.hasEnded)
  })

  it('ends the walk at the other node when its reader wants no more rows', async () => {
    await using bench = await RemoteBench.open()
    await fill(bench)
    const { world, remote, hybridClock } = bench
    const ended = watchEnd(bench)
    const at = hybridClock.readPoint()
    const pages = await world.settled(remote.scan({ range: EVERYTHING, at, signal }))
    const reading = (async () => {
      for await (const page of pages) return keysOf(page)
      return []
    })()

    expect((await world.settled(reading))[0]).to.equal('key-0000')
    await world.until(() => ended.hasEnded)
  })

  it('reads no more than its reader takes and a window', async () => {
    await using bench = await RemoteBench.open()
    await fill(bench)
    const { world, remote, hybridClock } = bench
    const ended = watchEnd(bench)
    const at = hybridClock.readPoint()

    const pages = await world.settled(remote.scan({ range: EVERYTHING, at, signal }))
    const iterator = pages[Symbol.asyncIterator]()
    await world.settled(iterator.next())
    const since = bench.clock.monotonicMs()
    await world.until(() => bench.clock.monotonicMs() > since + 200)

    expect(ended.rows).to.be.below(150) // 3 of 6 MB
    await world.settled(Promise.resolve(iterator.return?.()))
  })
})

/** Counts the rows of scans at the node `a`, and tells when their walk has ended. */
function watchEnd(bench: RemoteBench): { hasEnded: boolean; rows: number } {
  const seen = { hasEnded: false, rows: 0 }
  const { local } = bench
  async function* watched(pages: AsyncIterable<ScanRow[]>): AsyncGenerator<ScanRow[]> {
    try {
      for await (const page of pages) {
        seen.rows += page.length
        yield page
      }
    } finally {
      seen.hasEnded = true
    }
  }
  const scan: typeof local.scan = async (options) => watched(await local.scan(options))
  bench.found.a = { kind: 'here', shard: withMethods(local, { scan }), epoch: 1 }
  return seen
}
