import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { array, assert as check, constantFrom, integer, property, record } from 'fast-check'
import { BatchQueue } from '../../../../inference/batching/batch-queue.ts'
import type { BatchRule, QueuedWork } from '../../../../inference/batching/open-batch.ts'
import { BatchSizer } from '../../../../inference/batching/batch-sizer.ts'
import { RequestGate } from '../../../../inference/batching/request-gate.ts'
import { ResultCache } from '../../../../inference/batching/result-cache.ts'
import {
  SharedResults,
  resultKey,
  resultKeys,
} from '../../../../inference/batching/shared-results.ts'
import { ManualClock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'

interface Work extends QueuedWork {
  readonly request: number
}

const LIMITS = { tokensMax: 1024, itemsMax: 16 }

/** Requests with items of any length. */
const anyWorks = array(
  record({
    request: integer({ min: 1, max: 6 }),
    cost: integer({ min: 1, max: 1500 }),
    group: constantFrom('text', 'image'),
  }),
  { maxLength: 80 },
)

function work(request: number, cost: number, group = 'text'): Work {
  return { request, cost, group }
}

function filled(works: readonly Work[]): BatchQueue<Work> {
  const queue = new BatchQueue<Work>()
  for (const each of works) queue.add(each, each.request, 0)
  return queue
}

function drained(queue: BatchQueue<Work>, limits: BatchRule = LIMITS): Work[][] {
  const batches: Work[][] = []
  for (;;) {
    const batch = queue.take(limits)
    if (batch.length === 0) return batches
    batches.push(batch)
  }
}

describe('BatchQueue', () => {
  it('keeps every batch within tokens, items, group and nearly one length (B1)', () => {
    check(
      property(anyWorks, (all) => {
        const batches = drained(filled(all))

        expect(batches.flat()).to.have.members(all)
        for (const batch of batches) {
          const costs = batch.map(({ cost }) => cost)
          const [most, least] = [Math.max(...costs), Math.min(...costs)]
          expect(batch.length).to.be.at.most(LIMITS.itemsMax)
          if (batch.length > 1) expect(most * batch.length).to.be.at.most(LIMITS.tokensMax)
          expect(least).to.be.at.least(most / 1.25 - 8)
          expect(new Set(batch.map(({ group }) => group)).size).to.equal(1)
        }
      }),
    )
  })

  it('keeps a batch of mixed lengths within tokens, items and group, and fills it (B1)', () => {
    check(
      property(anyWorks, (all) => {
        const batches = drained(filled(all), { ...LIMITS, isMixed: true })

        expect(batches.flat()).to.have.members(all)
        for (const [at, batch] of batches.entries()) {
          const tokens = batch.reduce((sum, { cost }) => sum + cost, 0)
          expect(batch.length).to.be.at.most(LIMITS.itemsMax)
          if (batch.length > 1) expect(tokens).to.be.at.most(LIMITS.tokensMax)
          expect(new Set(batch.map(({ group }) => group)).size).to.equal(1)
          // What came later would have been taken if there had been room.
          const later = batches.slice(at + 1).flat()
          const fitting = later.filter(
            ({ cost, group }) => group === batch[0]!.group && tokens + cost <= LIMITS.tokensMax,
          )
          if (fitting.length > 0) expect(batch.length).to.equal(LIMITS.itemsMax)
        }
      }),
    )
  })

  it('counts waiting items', () => {
    const queue = filled([work(1, 10), work(1, 20), work(2, 30)])
    expect([queue.size, queue.cost, queue.oldestMs()]).to.deep.equal([3, 60, 0])

    queue.take(LIMITS)
    drained(queue)

    expect([queue.size, queue.cost, queue.oldestMs()]).to.deep.equal([0, 0, undefined])
  })

  it('lets large requests take turns (B2)', () => {
    const many = [1, 2].flatMap((id) => Array.from({ length: 64 }, () => work(id, 64)))
    const batches = drained(filled(many))

    const leaders = batches.map(([first]) => first!.request)
    expect(leaders.slice(0, 4)).to.deep.equal([1, 2, 1, 2])
  })

  it('runs a query before the rest of a load (B2)', () => {
    const queue = filled(Array.from({ length: 2048 }, () => work(1, 100)))
    queue.take(LIMITS)
    queue.add(work(2, 5), 2, 1)

    expect(queue.take(LIMITS)[0]!.request).to.equal(2)
  })

  it('gives a large request its turns between queries (B2)', () => {
    const queue = filled(Array.from({ length: 64 }, () => work(1, 100)))
    const leaders: number[] = []
    for (let id = 2; id < 40; id++) {
      queue.add(work(id, 5), id, id)
      leaders.push(queue.take({ tokensMax: 8, itemsMax: 1 })[0]!.request)
    }

    expect(leaders.filter((id) => id === 1).length).to.be.at.least(4)
  })

  it('fills a batch with other requests of the same length', () => {
    const queue = filled([work(1, 50), work(2, 51), work(3, 49), work(4, 500)])

    const batches = drained(queue)

    expect(batches.map((batch) => batch.map(({ cost }) => cost))).to.deep.equal([
      [50, 49],
      [51],
      [500],
    ])
  })

  it('never takes cancelled items (B3)', () => {
    const works = Array.from({ length: 40 }, (_, i) => work((i % 3) + 1, 10 + i))
    const queue = filled(works)
    const cancelled = works.filter((_, i) => i % 4 === 0)
    for (const each of cancelled) queue.cancel(each, each.request)
    queue.cancel(cancelled[0]!, cancelled[0]!.request)

    expect(queue.size).to.equal(30)
    expect(drained(queue).flat()).to.have.members(works.filter((each) => !cancelled.includes(each)))
    expect(queue.size).to.equal(0)
  })

  it('rejects all waiting items at once', () => {
    const works = [work(1, 1), work(2, 2)]
    const queue = filled(works)

    expect(queue.drain()).to.have.members(works)
    expect([queue.size, queue.cost, queue.take(LIMITS)]).to.deep.equal([0, 0, []])
  })
})

function full({ rule: { tokensMax, itemsMax } }: BatchSizer): { tokens: number; items: number } {
  return { tokens: tokensMax, items: itemsMax }
}

describe('BatchSizer', () => {
  const most = { tokensMax: 4096, itemsMax: 512 }

  it('begins small, and grows to the most while full batches take a short time (BZ1)', () => {
    const sizer = new BatchSizer(most)
    const sizes: number[] = []
    for (let batch = 0; batch < 8; batch += 1) {
      sizes.push(sizer.rule.tokensMax)
      sizer.observe(full(sizer), 3)
    }

    expect(sizes).to.deep.equal([512, 1024, 2048, 4096, 4096, 4096, 4096, 4096])
    expect(sizer.rule).to.deep.equal({ ...most, isMixed: true })
  })

  it('stays small for a model that needs its time, and for batches that were not full', () => {
    const [slow, idle] = [new BatchSizer(most), new BatchSizer(most)]
    slow.observe(full(slow), 30)
    slow.observe(full(slow), 10)
    idle.observe({ tokens: 20, items: 1 }, 1)

    for (const { rule } of [slow, idle]) {
      expect(rule).to.deep.equal({ tokensMax: 512, itemsMax: 16, isMixed: false })
    }
  })

  it('becomes smaller when a batch took too long, down to the first size (BZ2)', () => {
    const sizer = new BatchSizer(most)
    for (const ms of [1, 1]) sizer.observe(full(sizer), ms)
    sizer.observe({ tokens: 20, items: 1 }, 26)
    expect(sizer.rule.tokensMax).to.equal(1024)
    for (const ms of [26, 26, 26]) sizer.observe(full(sizer), ms)

    expect(sizer.rule.tokensMax).to.equal(512)
  })

  it('never begins above the most (BZ1)', () => {
    expect(new BatchSizer({ tokensMax: 100, itemsMax: 3 }).rule).to.include({
      tokensMax: 100,
      itemsMax: 3,
    })
  })
})

const lengthOf = (value: string): number => value.length

function cacheOf(bytesMax = 10_000): { clock: ManualClock; cache: ResultCache<string> } {
  const clock = new ManualClock()
  const cache = new ResultCache({ clock, ttlMs: 120_000, bytesMax, bytesOf: lengthOf })
  return { clock, cache }
}

describe('ResultCache', () => {
  it('keeps a result for two minutes from its writing, however often it is read (C1)', () => {
    const { clock, cache } = cacheOf()
    cache.set('a', 'A')

    clock.advance(119_999)
    expect(cache.get('a')).to.equal('A')
    clock.advance(1)

    expect(cache.get('a')).to.equal(undefined)
    expect(cache.bytes).to.equal(0)
  })

  it('drops the least recently used results beyond its bytes (C2)', () => {
    const { cache } = cacheOf(650)
    for (const key of ['a', 'b', 'c']) cache.set(key, 'x')
    cache.get('a')

    cache.set('d', 'x')

    expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).to.deep.equal([
      'x',
      undefined,
      'x',
      'x',
    ])
    expect(cache.bytes).to.be.at.most(650)
  })

  it('does not keep a result that is too large, and replaces one that is written again', () => {
    const { cache } = cacheOf(1000)
    cache.set('a', 'x'.repeat(2000))
    expect(cache.get('a')).to.equal(undefined)

    cache.set('a', 'x'.repeat(700))
    cache.set('a', 'y')

    expect(cache.get('a')).to.equal('y')
    expect(cache.bytes).to.be.lessThan(300)
  })
})

interface Started {
  readonly resolve: (value: string) => void
  readonly reject: (error: Error) => void
  cancelled: boolean
}

function shared() {
  const clock = new ManualClock()
  const cache = new ResultCache<string>({
    clock,
    ttlMs: 120_000,
    bytesMax: 10_000,
    bytesOf: (value) => value.length,
  })
  const sources: string[] = []
  const started: Started[] = []
  const results = new SharedResults(cache, (source) => sources.push(source))
  const start = () => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const run: Started = { resolve, reject, cancelled: false }
    started.push(run)
    return { promise, cancel: () => void (run.cancelled = true) }
  }
  const get = (keys: readonly string[], signal = new AbortController().signal) =>
    results.getMany(keys, start, signal)
  return { clock, sources, started, get }
}

describe('SharedResults', () => {
  it('runs once for all concurrent callers (SR1)', async () => {
    const { started, sources, get } = shared()
    const asked = [get(['a']), get(['a', 'a']), get(['a'])]

    started[0]!.resolve('A')

    const values = (await Promise.all(asked)).map((found) => found.map(({ value }) => value))
    expect(values).to.deep.equal([['A'], ['A', 'A'], ['A']])
    expect(started).to.have.length(1)
    expect(sources).to.deep.equal(['run', 'shared', 'shared', 'shared'])
  })

  it('caches the answer of a run, but not its failure (SR3)', async () => {
    const { started, get } = shared()
    const first = get(['a'])
    started[0]!.reject(new ServiceError('INFERENCE_FAILED', 'no'))
    expect(await first.catch(({ code }: ServiceError) => code)).to.equal('INFERENCE_FAILED')

    const second = get(['a'])
    started[1]!.resolve('A')
    await second

    expect((await get(['a']))[0]).to.deep.equal({ value: 'A', source: 'cache' })
  })

  it('continues a run when one caller leaves, and cancels it with the last (SR2)', async () => {
    const { started, get } = shared()
    const [one, two] = [new AbortController(), new AbortController()]
    const first = get(['a', 'b'], one.signal).catch(() => 'gone')
    const second = get(['a'], two.signal).catch(() => 'gone')

    one.abort()
    expect(await first).to.equal('gone')
    expect(started.map(({ cancelled }) => cancelled)).to.deep.equal([false, true])
    two.abort()
    await second

    expect(started.map(({ cancelled }) => cancelled)).to.deep.equal([true, true])
  })

  it('cancels the other runs of a request when one of them fails (SR2)', async () => {
    const { started, get } = shared()
    const asked = get(['a', 'b']).catch(({ message }: Error) => message)

    started[0]!.reject(new Error('no'))

    expect(await asked).to.equal('no')
    expect(started[1]!.cancelled).to.equal(true)
  })

  it('starts a run again that all callers have left', async () => {
    const { started, get } = shared()
    const gone = new AbortController()
    const left = get(['a'], gone.signal).catch(() => 'gone')
    gone.abort()
    await left

    const again = get(['a'])
    started[1]!.resolve('A')

    expect((await again)[0]!.value).to.equal('A')
  })

  it('has different keys for different lists of parts', async () => {
    const lists = [['ab', 'c'], ['a', 'bc'], ['abc'], ['1:a', 'b'], ['1', 'a', 'b']]
    const long = [['x'.repeat(300_000)], [`${'x'.repeat(299_999)}y`]]

    const keys = await resultKeys([...lists, ...long])

    expect(await resultKey(['ab', 'c'])).to.equal(keys[0])
    expect(new Set(keys).size).to.equal(keys.length)
  })
})

describe('RequestGate', () => {
  const never = new AbortController().signal

  it('admits requests in order of arrival, and refuses the first beyond its limit', async () => {
    const gate = new RequestGate({ runningMax: 1, waitingMax: 2 })
    const order: number[] = []
    const enter = async (id: number): Promise<() => void> => {
      const leave = await gate.enter(never)
      order.push(id)
      return leave
    }
    const leave = await enter(1)
    const second = enter(2)
    const third = enter(3)

    const refused = await enter(4).catch(({ code }: ServiceError) => code)
    leave()
    ;(await second)()
    ;(await third)()

    expect(refused).to.equal('OVERLOADED')
    expect(order).to.deep.equal([1, 2, 3])
    expect([gate.running, gate.waiting, gate.rejected]).to.deep.equal([0, 0, 1])
  })

  it('forgets a waiting request whose client disconnects', async () => {
    const gate = new RequestGate({ runningMax: 1, waitingMax: 1 })
    const leave = await gate.enter(never)
    const gone = new AbortController()
    const waiting = gate.enter(gone.signal).catch(() => 'gone')
    await setImmediate()

    gone.abort()

    expect(await waiting).to.equal('gone')
    expect(gate.waiting).to.equal(0)
    leave()
    expect(gate.running).to.equal(0)
  })

  it('releases a place once', async () => {
    const gate = new RequestGate({ runningMax: 1, waitingMax: 1 })
    const leave = await gate.enter(never)
    leave()

    expect(leave).to.throw('a place is given back once')
    expect(gate.running).to.equal(0)
  })
})
