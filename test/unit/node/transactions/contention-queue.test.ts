import { expect } from 'chai'
import * as fc from 'fast-check'
import { ManualClock } from '../../../../lib/clock.ts'
import {
  ContentionQueue,
  WAITING_CLAIMS_MAX,
  type Access,
  type Claim,
} from '../../../../node/transactions/contention-queue.ts'
import { errorOf } from '../../../support/error-of.ts'
import { settle } from '../../../support/servers/swarm-harness.ts'

const PATIENCE = { deadlineMs: 10_000 }

function alone(...names: readonly string[]): readonly Claim[] {
  return names.map((name) => ({ name, access: 'alone' }))
}

/** Places that write down when they are granted, and leave when they are told. */
class Visitors {
  readonly granted: string[] = []
  readonly queue = new ContentionQueue(new ManualClock())
  readonly #turns = new Map<string, Disposable>()

  enter(id: string, claims: readonly Claim[], signal?: AbortSignal): Promise<void> {
    return this.queue.enter(claims, { ...PATIENCE, signal }).then((turn) => {
      if (turn.kind === 'late') throw new Error('late')
      this.granted.push(id)
      this.#turns.set(id, turn)
    })
  }

  async leave(id: string): Promise<void> {
    this.#turns.get(id)?.[Symbol.dispose]()
    await settle()
  }
}

const claims: fc.Arbitrary<readonly Claim[]> = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    access: fc.constantFrom<Access>('alone', 'read', 'instant'),
  }),
  { selector: ({ name }) => name, minLength: 1, maxLength: 3 },
)

describe('ContentionQueue', () => {
  it('CQ1: gives every write a turn, and never lets two writes hold a key that they may not share', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(claims, { maxLength: 12 }), async (all) => {
        const queue = new ContentionQueue(new ManualClock())
        const inside = new Set<readonly Claim[]>()
        let turns = 0
        const visit = async (own: readonly Claim[]): Promise<void> => {
          const turn = await queue.enter(own, PATIENCE)
          if (turn.kind === 'late') return
          const others = [...inside]
            .flat()
            .filter((one) => own.some(({ name }) => name === one.name))
          const clash = others.find(({ name, access }) => {
            return (
              access === 'alone' || own.some((one) => one.name === name && one.access !== access)
            )
          })
          expect(clash).to.equal(undefined)
          inside.add(own)
          await Promise.resolve()
          inside.delete(own)
          turns++
          turn[Symbol.dispose]()
        }

        await Promise.all(all.map(visit))

        expect(turns).to.equal(all.length)
        expect(queue.waitingClaims).to.equal(0)
      }),
      { numRuns: 300 },
    )
  })

  it('CQ2: grants in order of arrival, one after the other', async () => {
    const visitors = new Visitors()
    const running = ['one', 'two', 'three'].map((id, i) =>
      visitors.enter(id, i === 1 ? alone('z', 'a') : alone('a', 'z')),
    )
    await settle()
    const first = [...visitors.granted]
    await visitors.leave('one')
    const second = [...visitors.granted]
    await visitors.leave('two')
    await Promise.all(running)

    expect(first).to.deep.equal(['one'])
    expect(second).to.deep.equal(['one', 'two'])
    expect(visitors.granted).to.deep.equal(['one', 'two', 'three'])
  })

  it('CQ2: admits neighbours with shared access together, and lets no write overtake', async () => {
    const visitors = new Visitors()
    const shared: readonly Claim[] = [{ name: 'a', access: 'instant' }]
    const running = [
      visitors.enter('first', shared),
      visitors.enter('second', shared),
      visitors.enter('writer', alone('a')),
      visitors.enter('third', shared),
    ]
    await settle()
    const together = [...visitors.granted]
    for (const id of ['first', 'second', 'writer']) await visitors.leave(id)
    await Promise.all(running)

    expect(together).to.deep.equal(['first', 'second'])
    expect(visitors.granted).to.deep.equal(['first', 'second', 'writer', 'third'])
  })

  it('CQ3: grants the next place after one that is given up', async () => {
    const visitors = new Visitors()
    const leaving = new AbortController()
    await visitors.enter('one', alone('a'))
    const given = errorOf(() => visitors.enter('two', alone('a', 'b'), leaving.signal))
    const third = visitors.enter('three', alone('b'))
    await settle()
    const before = [...visitors.granted]

    leaving.abort(new Error('gone'))
    await third

    expect(before).to.deep.equal(['one'])
    expect(visitors.granted).to.deep.equal(['one', 'three'])
    expect(await given).to.include({ message: 'gone' })
  })

  it('tells a late write which key it waited for, and grants the next one', async () => {
    const clock = new ManualClock()
    const queue = new ContentionQueue(clock)
    await turnOf(queue, alone('a'))
    const late = queue.enter(alone('b', 'a'), PATIENCE)
    await settle()

    clock.advance(PATIENCE.deadlineMs)

    expect(await late).to.deep.equal({ kind: 'late', waitedFor: 'a' })
    expect((await queue.enter(alone('b'), PATIENCE)).kind).to.equal('turn')
  })

  it('refuses more waiting writes than its limit', async () => {
    const queue = new ContentionQueue(new ManualClock())
    const stop = new AbortController()
    const patience = { ...PATIENCE, signal: stop.signal }
    await turnOf(queue, alone('a'))
    const many = Array.from({ length: 1024 }, (_, i) => `b${i}`)
    const waiting = Array.from({ length: WAITING_CLAIMS_MAX / 1024 }, () =>
      queue.enter(alone('a', ...many.slice(1)), patience).catch(() => undefined),
    )

    const error = await errorOf(() => queue.enter(alone('a'), PATIENCE))
    stop.abort()
    await Promise.all(waiting)

    expect(error).to.include({ code: 'OVERLOADED' })
    expect(queue.waitingClaims).to.equal(0)
  })
})

async function turnOf(queue: ContentionQueue, own: readonly Claim[]): Promise<Disposable> {
  const turn = await queue.enter(own, PATIENCE)
  if (turn.kind === 'late') throw new RangeError('nobody is in front')
  return turn
}
