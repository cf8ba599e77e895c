import { expect } from 'chai'
import { SharedAsks } from '../../../lib/shared-asks.ts'

function scripted() {
  const begun: { readonly name: string; readonly end: PromiseWithResolvers<void> }[] = []
  const asks = new SharedAsks((name) => {
    const end = Promise.withResolvers<void>()
    begun.push({ name, end })
    return end.promise
  })
  return { asks, begun }
}

describe('SharedAsks', () => {
  it('answers who asks meanwhile by one question that begins later', async () => {
    const { asks, begun } = scripted()
    const first = asks.ask('a')
    const later = [asks.ask('a'), asks.ask('a')]
    expect(begun).to.have.length(1)

    begun[0]?.end.resolve()
    await first
    await Promise.resolve()
    expect(begun.map(({ name }) => name)).to.deep.equal(['a', 'a'])
    begun[1]?.end.resolve()

    await Promise.all(later)
    expect(begun).to.have.length(2)
  })

  it('asks about other names side by side', () => {
    const { asks, begun } = scripted()

    void asks.ask('a')
    void asks.ask('b')

    expect(begun.map(({ name }) => name)).to.deep.equal(['a', 'b'])
  })

  it('asks again after a failure', async () => {
    const { asks, begun } = scripted()
    const failing = asks.ask('a')
    const next = asks.ask('a')
    begun[0]?.end.reject(new Error('away'))
    expect(await failing.catch(() => 'failed')).to.equal('failed')
    await new Promise(setImmediate)

    begun[1]?.end.resolve()

    await next
    expect(begun).to.have.length(2)
  })
})
