import { expect } from 'chai'
import { ManualClock } from '../../../lib/clock.ts'
import { answerWithin, prodWhenLate } from '../../../lib/deadline.ts'

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

describe('work with a deadline', () => {
  it('has its callback called once when it is late, and settles with its own result', async () => {
    const clock = new ManualClock()
    const work = Promise.withResolvers<string>()
    let prods = 0
    const settled = prodWhenLate(work.promise, {
      clock,
      ms: 100,
      onLate: () => {
        prods += 1
        work.resolve('late')
      },
    })

    clock.advance(99)
    await turn()
    expect(prods).to.equal(0)
    clock.advance(1)

    expect(await settled).to.equal('late')
    expect(prods).to.equal(1)
  })

  it('has no callback called when it ends in time, even if it fails', async () => {
    const clock = new ManualClock()
    let prods = 0
    const onLate = (): void => void (prods += 1)

    const failure = await prodWhenLate(Promise.reject(new Error('torn')), {
      clock,
      ms: 100,
      onLate,
    }).catch(String)
    clock.advance(200)
    await turn()

    expect([failure, prods]).to.deep.equal(['Error: torn', 0])
  })

  it('gives undefined when it is late or fails', async () => {
    const clock = new ManualClock()
    const limit = { clock, ms: 100 }
    const never = answerWithin(new Promise<string>(() => undefined), limit)

    expect(await answerWithin(Promise.resolve('soon'), limit)).to.equal('soon')
    expect(await answerWithin(Promise.reject(new Error('torn')), limit)).to.equal(undefined)
    await turn()
    clock.advance(100)

    expect(await never).to.equal(undefined)
  })
})
