import { expect } from 'chai'
import { addressOf, Strangers } from '../../../../../node/peer/channels/strangers.ts'
import type { Stranger } from '../../../../../node/peer/channels/strangers.ts'

const MAX = 16

describe('strangers', () => {
  let strangers: Strangers
  let evicted: string[]

  beforeEach(() => {
    strangers = new Strangers(MAX)
    evicted = []
  })

  function come(name: string, address: string): Stranger {
    const stranger = { address, evict: () => void evicted.push(name) }
    strangers.add(stranger)
    return stranger
  }

  it('of a flood evict each other, and nobody from another address', () => {
    come('node', '10.0.0.1')
    for (let at = 0; at < 3000; at += 1) come(`flood ${at}`, '10.9.9.9')

    expect(evicted).to.have.length(3001 - MAX)
    expect(evicted).to.not.include('node')
    expect(evicted[0]).to.equal('flood 0')
  })

  it('that know the names outlast a flood from their own address', () => {
    strangers.promote(come('node', '127.0.0.1'))
    for (let at = 0; at < 3000; at += 1) come(`flood ${at}`, '127.0.0.1')

    expect(evicted).to.not.include('node')
  })

  it('are bounded also when all know the names, and make room when they leave', () => {
    const named = Array.from({ length: MAX }, (_, at) => come(`named ${at}`, '10.0.0.1'))
    for (const each of named) strangers.promote(each)

    come('one more', '10.0.0.2')
    for (const each of named) strangers.delete(each)
    for (let at = 0; at < MAX - 1; at += 1) come(`later ${at}`, '10.0.0.3')

    expect(evicted).to.deep.equal(['named 0'])
  })

  it('have addresses without ports', () => {
    expect(['10.0.0.1:4100', '::1:4100'].map(addressOf)).to.deep.equal(['10.0.0.1', '::1'])
  })
})
