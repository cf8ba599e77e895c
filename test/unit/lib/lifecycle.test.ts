import { expect } from 'chai'
import { Lifecycle } from '../../../lib/lifecycle.ts'

describe('Lifecycle', () => {
  it('leaves open what a finished build has opened', async () => {
    const closed: string[] = []

    const built = await Lifecycle.build(async (life) => {
      life.onClose(() => void closed.push('store'))
      return 'server'
    })

    expect(built).to.equal('server')
    expect(closed).to.deep.equal([])
  })

  it('closes what a failed build has opened in reverse order, and throws its error', async () => {
    const closed: string[] = []
    const failure = new Error('the port is taken')

    const building = Lifecycle.build(async (life) => {
      life.onClose(() => void closed.push('store'))
      life.onClose(() => {
        closed.push('server')
        throw new Error('closing fails as well')
      })
      throw failure
    })

    expect(await building.catch((error: unknown) => error)).to.equal(failure)
    expect(closed).to.deep.equal(['server', 'store'])
  })
})
