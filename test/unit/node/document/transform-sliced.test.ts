import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { sameValue } from '../../../../node/document/canonical-json.ts'
import {
  parseExact,
  stringifyExact,
  type JsonObject,
} from '../../../../node/document/exact-json.ts'
import { isJsonObject } from '../../../../node/document/json-object.ts'
import { applyTransformsSliced, parseTransforms } from '../../../../node/document/transform.ts'
import {
  TRANSFORM_OPERATORS,
  type TransformOperator,
} from '../../../../node/document/transform-operators.ts'
import { walk } from '../../../support/slices/sliced-steps.ts'
import {
  Misfit,
  transformed,
  type ModelOperation,
} from '../../../support/models/transform-model.ts'

const requestsOf = (operations: readonly ModelOperation[], times = 1) =>
  parseTransforms(
    Buffer.from(JSON.stringify(Array.from({ length: times }, () => ({ key: 'k', operations })))),
    'transforms',
  )

/** Few names, so that paths meet; some of them look like something else. */
const names = fc.constantFrom('a', 'b', 'c', '1', '__proto__', 'ä"\\', '$$')
const paths = fc.array(names, { minLength: 1, maxLength: 3 }).map((segments) => segments.join('.'))
const numbers = fc.constantFrom(0, -1, 2.5, 1e21, 9007199254740991)
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    numbers,
    fc.constantFrom('x', 'ä"\\\n', '', true, null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(names, tie('value'), { maxKeys: 4 }),
  ),
}))
const documents = fc.dictionary(names, values, { maxKeys: 6 })
const operators = Object.keys(TRANSFORM_OPERATORS).filter(
  (name): name is TransformOperator => name in TRANSFORM_OPERATORS,
)

const operations = fc
  .record({
    op: fc.constantFrom(...operators),
    path: paths,
    value: values,
    number: numbers,
    to: paths,
  })
  .map(({ op, path, value, number, to }) => {
    if (['$inc', '$mul', '$min', '$max'].includes(op)) return { op, path, value: number }
    if (op === '$pop') return { op, path, value: number === 0 ? 1 : -1 }
    return { op, path, value: op === '$rename' ? to : value }
  })

const textOf = (json: unknown) => Buffer.from(JSON.stringify(json))

function valueOf(json: Buffer | string): JsonObject {
  const value = parseExact(json)
  if (!isJsonObject(value)) throw new TypeError('not an object')
  return value
}

/** Undefined for a refusal. */
function attempt<T>(compute: () => T): T | undefined {
  try {
    return compute()
  } catch (error) {
    if (error instanceof Misfit || error instanceof ServiceError) return undefined
    throw error
  }
}

describe('transforms on the text of a document', () => {
  it('give the same result as on values', () => {
    fc.assert(
      fc.property(documents, fc.array(operations, { maxLength: 8 }), (document, list) => {
        fc.pre(list.length > 0)
        const json = textOf(document)
        const parsed: ModelOperation[] = list.map(({ op, path, value }) => ({
          op,
          path,
          value: parseExact(textOf(value)),
        }))

        const expected = attempt(() => transformed(valueOf(json), parsed))
        const after = attempt(() => runAtOnce(applyTransformsSliced(json, requestsOf(parsed), 0)))

        const shown = `${String(after)} for ${expected === undefined ? 'none' : stringifyExact(expected)}`
        expect(after === undefined, shown).to.equal(expected === undefined)
        if (after === undefined || expected === undefined) return
        expect(sameValue(valueOf(after), expected), shown).to.equal(true)
        const compact = stringifyExact(parseExact(after))
        expect(String(after).length, 'compact').to.equal(compact.length)
      }),
      { numRuns: 2000 },
    )
  })

  it('keep the bytes that they do not touch', () => {
    const json = Buffer.from('{"2":1.0,"1":[1e2, "\\u0061"],"n":1,"x":{"y":1.50}}')

    const after = runAtOnce(
      applyTransformsSliced(json, requestsOf([{ op: '$inc', path: 'n', value: 1 }]), 0),
    )

    expect(String(after)).to.equal('{"2":1.0,"1":[1e2, "\\u0061"],"n":2,"x":{"y":1.50}}')
  })
})

const setEach = (count: number): ModelOperation[] =>
  Array.from({ length: count }, (_, index) => ({ op: '$set', path: `n${index}`, value: 1 }))

describe('the work of transforms', () => {
  const members = Array.from({ length: 200_000 }, (_, index) => `"k${index}":${index}`)
  const wide = Buffer.from(`{${members.join(',')}}`)

  it('is one walk over a wide document for any number of operations (p01)', () => {
    const one = walk(applyTransformsSliced(wide, requestsOf(setEach(1)), 0))
    const many = walk(applyTransformsSliced(wide, requestsOf(setEach(200)), 0))

    expect(one.pauses).to.be.at.least(20)
    expect(many.pauses).to.be.at.most(one.pauses + 10)
    expect(many.result?.length).to.be.above(wide.length + 200 * '"n1":1'.length)
  })

  it('is one walk over a wide document for any number of transforms (p01)', () => {
    const one = walk(applyTransformsSliced(wide, requestsOf(setEach(1)), 0))
    const many = walk(applyTransformsSliced(wide, requestsOf(setEach(1), 50), 0))

    expect(many.pauses).to.be.at.most(one.pauses + 60)
  })

  it('is one walk over a long array for all additions and removals', () => {
    const long = Buffer.from(`{"a":[${'1,'.repeat(100_000)}2]}`)
    const push = { op: '$push', path: 'a', value: 1 } as const
    const pop = { op: '$pop', path: 'a', value: 1 } as const
    const list = Array.from({ length: 100 }, (_, index) => (index % 3 === 0 ? push : pop))

    const one = walk(applyTransformsSliced(long, requestsOf([pop]), 0))
    const many = walk(applyTransformsSliced(long, requestsOf(list), 0))

    expect(many.pauses).to.be.at.most(one.pauses + 20)
  })

  it('is refused where renames nest a document too deeply', () => {
    const deeper = `x${'.x'.repeat(99)}.a`
    const list = Array.from({ length: 50 }, (_, index): ModelOperation[] => [
      { op: '$rename', path: 'a', value: `b${index}.${deeper.slice(4)}` },
      { op: '$rename', path: `b${index}`, value: 'a' },
    ]).flat()
    const requests = requestsOf([{ op: '$set', path: 'a', value: 1 }, ...list])

    expect(() => runAtOnce(applyTransformsSliced(Buffer.from('{}'), requests, 0)))
      .to.throw('nested deeper')
      .with.property('code', 'INVALID_ARGUMENT')
  })
})
