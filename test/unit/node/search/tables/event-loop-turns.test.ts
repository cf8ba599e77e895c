import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { EventLoopTurns } from '../../../../../node/search/tables/event-loop-turns.ts'

describe('turns of the event loop', () => {
  it('are granted to the first caller at once and to each later one a turn later, in order', async () => {
    const turns = new EventLoopTurns()
    const done: number[] = []
    const shares = [0, 1, 2].map(async (share) => {
      await turns.take()
      done.push(share)
    })

    const seen: number[] = []
    await Promise.resolve()
    await Promise.resolve()
    seen.push(done.length)
    while (done.length < 3) {
      await nextTurn()
      seen.push(done.length)
    }
    await Promise.all(shares)

    expect(done).to.deep.equal([0, 1, 2])
    expect(seen[0]).to.equal(1)
    expect(seen).to.include.members([1, 2, 3])
  })

  it('are free again when no caller waits', async () => {
    const turns = new EventLoopTurns()
    await turns.take()
    await nextTurn()
    await nextTurn()
    let isTaken = false

    void turns.take().then(() => (isTaken = true))
    await Promise.resolve()

    expect(isTaken).to.equal(true)
  })
})
