// What every engine behind the seam of index workers promises (node/index/host/index-engine.ts).

import { expect } from 'chai'
import { runAtOnce } from '../../lib/sliced.ts'
import { QUESTIONS } from '../../node/index/host/index-engine.ts'
import { errorOf } from '../support/error-of.ts'
import {
  EngineBench,
  type EngineUnderTest,
  jsonChange,
  keysIn,
  remove,
} from '../support/worlds/opened-engine.ts'
import { describeDivision } from './index-division.ts'
import { describeEngineFiles } from './index-engine-files.ts'

export function describeIndexEngine(name: string, tested: EngineUnderTest): void {
  describe(`${name} as an index engine`, () => {
    const put = tested.change ?? jsonChange
    const bench = new EngineBench(tested)
    const open = () => bench.open()
    beforeEach(() => bench.begin())
    afterEach(() => bench.end())

    it('finds applied documents, but not replaced or deleted ones', () => {
      using index = open()
      index.apply(1, [put('a', 'tide'), put('b', 'tide'), put('c', 'tide')])
      index.apply(2, [put('a', 'road'), remove('b')])

      expect(index.find('tide')).to.deep.equal(['c'])
      expect(index.find('road')).to.deep.equal(['a'])
      expect(index.engine.report().documents).to.equal(2)
    })

    it('does not change when a batch is applied again', () => {
      using index = open()
      index.apply(1, [put('b', 'tide')])

      for (const sequence of [3, 3]) index.apply(sequence, [put('a', 'tide'), remove('b')])

      expect(index.find('tide')).to.deep.equal(['a'])
      expect(index.engine.report().documents).to.equal(1)
    })

    it('finds the same before, during and after a flush and its maintenance', () => {
      using index = open()
      for (let sequence = 1; sequence <= 6; sequence += 1) {
        index.apply(sequence, [put(`k${sequence}`, 'tide'), put('same', 'tide')])
        const expected = index.find('tide')
        for (const _ of index.engine.flush(sequence)) {
          expect(index.find('tide')).to.deep.equal(expected)
        }
        expect(index.find('tide')).to.deep.equal(expected)
      }
      const found = index.find('tide')
      while (index.engine.maintain()) expect(index.find('tide')).to.deep.equal(found)

      expect(found).to.have.length(7)
      expect(index.engine.checkpoint).to.equal(6)
    })

    it('frees memory when it makes room', () => {
      using index = open()
      index.apply(1, [put('a', 'tide '.repeat(1000))])
      const held = index.engine.unflushedBytes

      for (let steps = 0; steps < 1000 && index.engine.unflushedBytes >= held; steps += 1) {
        void index.engine.makeRoom()
      }

      expect(held).to.be.above(0)
      expect(index.engine.unflushedBytes).to.be.below(held)
    })

    it('answers with the documents of its first step, and may be abandoned at any step', () => {
      using index = open()
      const changes = Array.from({ length: 300 }, (_, i) => put(`k${i}`, 'tide'))
      index.apply(1, changes)
      const work = index.engine.answer(tested.find('tide'))
      const left = index.engine.answer(tested.find('tide'))
      const [first] = [work.next(), left.next()]

      index.apply(2, [remove('k0'), put('new', 'tide')])
      left.return(undefined)
      const answer = first.done === true ? first.value : runAtOnce(work)

      expect(keysIn(tested, answer)).to.have.length(300)
      expect(index.find('tide')).to.have.length(300).and.include('new')
    })

    it('answers with data that structuredClone copies', () => {
      using index = open()
      index.apply(1, [put('a', 'tide')])

      const answer = runAtOnce(index.engine.answer(tested.find('tide')))

      expect(structuredClone(answer)).to.deep.equal(answer)
    })

    for (const question of QUESTIONS.filter((one) => !tested.answers.includes(one))) {
      it(`refuses the question ${question}`, async () => {
        using index = open()
        const { request } = tested.find('tide')

        const refusal = await errorOf(() => runAtOnce(index.engine.answer({ question, request })))

        expect(refusal).to.include({ code: 'INVALID_ARGUMENT' })
      })
    }

    if (tested.division !== undefined) describeDivision(tested, tested.division, open)
    describeEngineFiles(tested, bench)
  })
}
