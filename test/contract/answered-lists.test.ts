import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { loadContract } from '../../door/contract.ts'
import { ANSWERED_LISTS, flagsOf } from '../support/answered-lists.ts'
import { answerPlaces } from '../support/response-lists.ts'

const CONTRACTS = ['store.v1', 'inference.v1'] as const

describe('the lists of answers', () => {
  for (const name of CONTRACTS) {
    const { lists, members } = answerPlaces(loadContract(name).document)
    const known = ANSWERED_LISTS[name]

    it(`are all known as whole, or as cut with a member that says so: ${name}`, () => {
      const unknown = [...lists].filter((list) => !known.has(list))
      const gone = [...known.keys()].filter((list) => !lists.has(list))

      expect(unknown, 'sort these into test/support/answered-lists.ts').to.deep.equal([])
      expect(gone, 'these are in no answer any more').to.deep.equal([])
    })

    it(`have the members that say that they were cut in the contract: ${name}`, () => {
      expect([...flagsOf(name)].filter((flag) => !members.has(flag))).to.deep.equal([])
    })

    it(`have excerpts that the contract describes: ${name}`, () => {
      const text = readFileSync(`openapi/${name}.yaml`, 'utf8').replaceAll(/\s+/g, ' ')
      for (const [list, one] of known) {
        if (typeof one === 'object' && 'excerpt' in one) expect(text, list).to.match(one.excerpt)
      }
    })
  }

  it('with a limit in the contract are not called whole', () => {
    // Schemas of requests that answers repeat: their limits are checked when they are written.
    const asWritten = /^(?:SynonymRule|TableSchema)/
    for (const name of CONTRACTS) {
      const { bounded } = answerPlaces(loadContract(name).document)
      const whole = [...bounded].filter((list) => ANSWERED_LISTS[name].get(list) === 'whole')

      expect(whole.filter((list) => !asWritten.test(list))).to.deep.equal([])
    }
  })
})
