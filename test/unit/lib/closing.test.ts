import { expect } from 'chai'
import { closedUnlessDone } from '../../../lib/closing.ts'
import { runAtOnce, type Sliced } from '../../../lib/sliced.ts'
import { errorOf } from '../../support/error-of.ts'

describe('closedUnlessDone', () => {
  let closed = 0
  const close = (): void => {
    closed += 1
  }
  beforeEach(() => {
    closed = 0
  })

  it('answers what the work answers, and leaves it open', () => {
    expect(runAtOnce(closedUnlessDone(work(), close))).to.equal('done')
    expect(closed).to.equal(0)
  })

  it('closes once when the work fails', async () => {
    const failure = await errorOf(() => runAtOnce(closedUnlessDone(work(new Error('no')), close)))

    expect(failure).to.have.property('message', 'no')
    expect(closed).to.equal(1)
  })

  it('closes once when the work is left', () => {
    const left = closedUnlessDone(work(), close)
    left.next()

    left.return('left')

    expect(left.next().done).to.equal(true)
    expect(closed).to.equal(1)
  })
})

function* work(failure?: Error): Sliced<string> {
  yield
  if (failure !== undefined) throw failure
  return 'done'
}
