import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { parseExact } from '../../../../node/document/exact-json.ts'
import { isJsonObject } from '../../../../node/document/json-object.ts'
import type { JsonObject } from '../../../../node/document/exact-json.ts'
import { documentAtPaths, projectText } from '../../../../node/document/project-text.ts'
import { parseFieldPath } from '../../../../node/document/field-path.ts'
import { parseProjection, project } from '../../../../node/document/projection.ts'

/** Makes every container that holds it too large to be parsed in one step. */
const PADDING = 'x'.repeat(40_000)

const name = fc.constantFrom('a', 'b', 'c', 'a.b', '*', 'é"', 'pad')
const scalar = fc.oneof(fc.nat(9), fc.constant(null), fc.boolean(), fc.constant(PADDING))
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
}))
const document = fc.dictionary(name, value, { maxKeys: 5 })
const field = fc
  .array(fc.constantFrom('a', 'b', 'c', '*', 'pad'), { minLength: 1, maxLength: 3 })
  .map((segments) => segments.join('.'))
const fields = fc.array(
  fc.tuple(fc.boolean(), field).map(([isOut, path]) => (isOut ? `-${path}` : path)),
  { minLength: 1, maxLength: 3 },
)

function objectOf(text: Buffer): JsonObject {
  const parsed = parseExact(text)
  return isJsonObject(parsed) ? parsed : expect.fail('not an object')
}

describe('a projection of text', () => {
  it('is the projection of the document, whatever its size', () => {
    fc.assert(
      fc.property(document, fields, (object, asked) => {
        const json = Buffer.from(JSON.stringify({ ...object, z: PADDING }))
        const projection = parseProjection(asked)

        const expected = project(objectOf(json), projection)
        expect(objectOf(runAtOnce(projectText(json, projection)))).to.deep.equal(expected)
      }),
      { numRuns: 300 },
    )
  })

  it('adds a virtual field that is requested and absent', () => {
    const json = Buffer.from(JSON.stringify({ a: 1, z: PADDING }))
    const virtuals = { _timestamp: 'now', a: 2 }

    const text = runAtOnce(projectText(json, parseProjection(['a', '_timestamp']), virtuals))

    expect(objectOf(text)).to.deep.equal({ a: 1, _timestamp: 'now' })
  })

  it('keeps every digit', () => {
    const json = Buffer.from(`{"n":12345678901234567890,"z":"${PADDING}"}`)

    const text = runAtOnce(projectText(json, parseProjection(['n'])))

    expect(text.toString()).to.equal('{"n":12345678901234567890}')
  })

  it('pauses in a large document', () => {
    const json = Buffer.from(`{"list":[${'{"a":1,"b":2},'.repeat(300_000)}0]}`)

    const pauses = [...projectText(json, parseProjection(['list.a']))].length

    expect(pauses).to.be.at.least(30)
  })

  it('keeps the values that a filter needs', () => {
    const json = Buffer.from(JSON.stringify({ a: { b: 1, c: 2 }, d: 3, z: PADDING }))
    const paths = ['a.b', 'd', 'e'].map((path) => parseFieldPath(path, 'field'))

    expect(runAtOnce(documentAtPaths(json, paths))).to.deep.equal({ a: { b: 1 }, d: 3 })
  })
})
