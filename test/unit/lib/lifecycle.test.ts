import { expect } from 'chai'
import { Lifecycle } from '../../../lib/lifecycle.ts'

describe('Lifecycle', () => {
  it('leaves resources of a finished build open', async () => {
    const closed: string[] = []

    const built = await Lifecycle.build(async (life) => {
      life.onClose(() => void closed.push('store'))
      return 'server'
    })

    expect(built).to.equal('server')
    expect(closed).to.deep.equal([])
  })

  it('closes resources of a failed build in reverse order, and throws its error', async () => {
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
