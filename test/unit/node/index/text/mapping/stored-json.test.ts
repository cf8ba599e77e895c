import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { parseExact, stringifyExact } from '../../../../../../node/document/exact-json.ts'
import { parseStoredInSteps } from '../../../../../../node/index/text/mapping/stored-json.ts'

const FILLER = Array.from({ length: 4000 }, (_, i) => `filler ${i}`)

function expectParsed(text: string): void {
  const parsed = runAtOnce(parseStoredInSteps(Buffer.from(text)))

  expect(stringifyExact(parsed)).to.equal(stringifyExact(parseExact(text)))
}

describe('a stored document parsed in steps', () => {
  it('becomes the same value as by JSON.parse, wherever steps end', () => {
    const value = fc.jsonValue({ maxDepth: 6, noUnicodeString: false })
    const property = fc.property(fc.array(value, { maxLength: 12 }), (values) => {
      // Between and inside the values there is as much as makes each of them end a run.
      const spaced = values.flatMap((one, i) => [one, i % 2 === 0 ? FILLER : { FILLER, one }])
      expectParsed(JSON.stringify({ spaced, last: values }))
    })

    fc.assert(property, { numRuns: 30 })
  })

  it('keeps digits that a double cannot carry, and quotes behind backslashes', () => {
    const long = Array.from({ length: 3000 }, (_, i) => `"k${i}":1234567890123456${i}`).join()
    const quotes = JSON.stringify(FILLER.map((text) => `${text} \\" \\\\`))

    expectParsed(`{${long},"quotes":${quotes},"more":[[[${quotes}]],{"a":{"b":${quotes}}}]}`)
  })

  it('makes an own property of every name', () => {
    const names = `{"__proto__":${JSON.stringify(FILLER)},"constructor":1,"":2}`
    const text = `{"a":${names},"__proto__":{"b":${names}}}`

    const parsed = runAtOnce(parseStoredInSteps(Buffer.from(text)))

    expect(parsed).to.have.own.property('__proto__')
    expectParsed(text)
  })

  it('takes many steps for a large document of any shape', () => {
    const shapes = [
      `{"a":[${'1,'.repeat(1_000_000)}12345678901234567]}`,
      `{"a":[${'{"b":[1]},'.repeat(200_000)}1]}`,
      `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":${i}`).join()}}`,
    ]

    const steps = shapes.map((text) => [...parseStoredInSteps(Buffer.from(text))].length)

    for (const [i, count] of steps.entries()) {
      expect(count).to.be.greaterThan((shapes[i] ?? '').length / 150_000)
    }
  })
})
