// What engines promise that divide their answers between two workers.

import { expect } from 'chai'
import { runAtOnce } from '../../lib/sliced.ts'
import type { IndexDivision } from '../../node/index/host/index-kind.ts'
import { errorOf } from '../support/error-of.ts'
import { IndexReader } from '../support/worlds/index-reader.ts'
import {
  type EngineUnderTest,
  jsonChange,
  keysIn,
  type OpenedEngine,
  receivedBy,
  remove,
} from '../support/worlds/opened-engine.ts'

/** How an index is opened, in the directory of the test by default. */
type Open = () => OpenedEngine

export function describeDivision(
  tested: EngineUnderTest,
  division: IndexDivision,
  open: Open,
): void {
  const put = tested.change ?? jsonChange

  it('answers in parts as it answers undivided, whenever it is asked', () => {
    using index = open()
    using reader = new IndexReader(index, division)
    let dividedCount = 0
    const expectAgreement = (): void => {
      for (const word of ['tide', 'road', 'none']) {
        const whole = runAtOnce(index.engine.answer(tested.find(word)))
        const found = reader.find(tested.find(word))
        expect(receivedBy(tested, found.answer)).to.deep.equal(receivedBy(tested, whole))
        if (found.isDivided) dividedCount += 1
      }
    }
    for (let sequence = 1; sequence <= 24; sequence += 1) {
      const words = sequence % 3 === 0 ? 'road tide' : 'tide '.repeat(1 + (sequence % 4))
      const changes = [put(`k${sequence}`, words), put('same', words), remove(`k${sequence - 4}`)]
      index.apply(sequence, changes)
      expectAgreement()
      if (sequence % 2 === 0) continue
      for (const _ of index.engine.flush(sequence)) expectAgreement()
      if (sequence % 6 === 1) while (index.engine.maintain()) expectAgreement()
    }

    expect(dividedCount).to.be.above(20)
  })

  it('divides what was there at the first step, whatever is done before the rest is asked', () => {
    using index = open()
    using reader = new IndexReader(index, division)
    for (let sequence = 1; sequence <= 5; sequence += 1) {
      index.apply(sequence, [put(`k${sequence}`, 'tide'), put(`r${sequence}`, 'tide road')])
      runAtOnce(index.engine.flush(sequence))
    }
    index.apply(6, [put('new', 'tide'), remove('r1')])
    const whole = runAtOnce(index.engine.answer(tested.find('tide')))

    const finish = reader.begin(tested.find('tide'))
    index.apply(7, [remove('k1'), put('k2', 'road'), remove('new'), put('k9', 'tide')])
    for (let sequence = 8; sequence < 16; sequence += 1) {
      index.apply(sequence, [put(`k${sequence}`, 'tide')])
      runAtOnce(index.engine.flush(sequence))
    }
    while (index.engine.maintain());

    expect(receivedBy(tested, finish())).to.deep.equal(receivedBy(tested, whole))
    expect(keysIn(tested, whole)).to.have.length(10)
  })

  it('has readers that are given parts in another order than they were divided', () => {
    using index = open()
    using reader = new IndexReader(index, division)
    index.apply(1, [put('a', 'tide'), put('b', 'tide'), put('c', 'tide')])
    runAtOnce(index.engine.flush(1))
    reader.find(tested.find('tide'))
    const first = reader.begin(tested.find('tide'))
    index.apply(2, [remove('a')])
    const second = reader.begin(tested.find('tide'))
    index.apply(3, [remove('b')])
    const third = reader.begin(tested.find('tide'))

    const found = [third(), first(), second()].map((answer) => keysIn(tested, answer).toSorted())

    expect(found).to.deep.equal([['c'], ['a', 'b', 'c'], ['b', 'c']])
  })

  it('has readers that refuse what they cannot know, and are told it again', async () => {
    using index = open()
    index.apply(1, [put('a', 'tide')])
    runAtOnce(index.engine.flush(1))
    using taught = new IndexReader(index, division)
    taught.find(tested.find('tide'))
    using ignorant = new IndexReader(index, division)

    const refusal = await errorOf(() => ignorant.find(tested.find('tide'), taught.known))

    expect(refusal).to.include({ code: 'UNAVAILABLE' })
    expect(keysIn(tested, ignorant.find(tested.find('tide')).answer)).to.deep.equal(['a'])
  })
}
