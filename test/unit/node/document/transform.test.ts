import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { applyTransformsSliced, parseTransforms } from '../../../../node/document/transform.ts'
import type { TransformOperator } from '../../../../node/document/transform-operators.ts'

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

function transform(document: string | undefined, operations: string, upsert = false) {
  const requests = parse(`[{"key":"k","operations":${operations},"upsert":${upsert}}]`)
  const before = document === undefined ? undefined : Buffer.from(document)
  const after = runAtOnce(applyTransformsSliced(before, requests, NOW_MS))
  if (before !== undefined) expect(String(before), 'unchanged input').to.equal(document)
  return after?.toString()
}
const operation = (op: string, path: string, value?: string) =>
  `[{"op":"${op}","path":"${path}"${value === undefined ? '' : `,"value":${value}`}}]`

/** Document before, path, value, document after. */
type Example = readonly [before: string, path: string, value: string | undefined, after: string]

const examples: Record<TransformOperator, readonly Example[]> = {
  $set: [
    ['{}', 'a', '1', '{"a":1}'],
    ['{"a":1,"b":2}', '$.a', 'null', '{"a":null,"b":2}'],
    ['{}', 'a.b.c', '{"d":1}', '{"a":{"b":{"c":{"d":1}}}}'],
    ['{"a":{"x":1}}', 'a.b', '[1]', '{"a":{"x":1,"b":[1]}}'],
    ['{}', '__proto__.polluted', '1', '{"__proto__":{"polluted":1}}'],
    ['{}', 'constructor.prototype', '1', '{"constructor":{"prototype":1}}'],
    ['{"big":12345678901234567890}', 'a', '1', '{"big":12345678901234567890,"a":1}'],
  ],
  $unset: [
    ['{"a":1,"b":2}', 'a', undefined, '{"b":2}'],
    ['{"a":{"b":1}}', 'a.b', '""', '{"a":{}}'],
    ['{"a":1}', 'x.y.z', undefined, '{"a":1}'],
    ['{"a":1}', 'constructor', undefined, '{"a":1}'],
  ],
  $inc: [
    ['{"n":1}', 'n', '2', '{"n":3}'],
    ['{}', 'a.n', '2.5', '{"a":{"n":2.5}}'],
    ['{"n":0.5}', 'n', '-1', '{"n":-0.5}'],
    ['{"n":9007199254740991}', 'n', '2', '{"n":9007199254740993}'],
    ['{"n":9007199254740993}', 'n', '-2', '{"n":9007199254740991}'],
    ['{"n":-12345678901234567890}', 'n', '12345678901234567891', '{"n":1}'],
  ],
  $mul: [
    ['{"n":3}', 'n', '4', '{"n":12}'],
    ['{}', 'n', '4', '{"n":0}'],
    ['{"n":12345678901234567890}', 'n', '10', '{"n":123456789012345678900}'],
  ],
  $min: [
    ['{"n":3}', 'n', '2', '{"n":2}'],
    ['{"n":3}', 'n', '4', '{"n":3}'],
    ['{}', 'n', '4', '{"n":4}'],
    ['{"n":9007199254740993}', 'n', '9007199254740992', '{"n":9007199254740992}'],
  ],
  $max: [
    ['{"n":3}', 'n', '4', '{"n":4}'],
    ['{"n":3}', 'n', '2', '{"n":3}'],
    ['{}', 'n', '4', '{"n":4}'],
    ['{"n":9007199254740992}', 'n', '9007199254740993', '{"n":9007199254740993}'],
  ],
  $push: [
    ['{"a":[1]}', 'a', '[2]', '{"a":[1,[2]]}'],
    ['{}', 'a', '1', '{"a":[1]}'],
  ],
  $pull: [
    ['{"a":[1,{"x":1,"y":2},1]}', 'a', '{"y":2,"x":1}', '{"a":[1,1]}'],
    ['{"a":[1,2,1]}', 'a', '1.0', '{"a":[2]}'],
    ['{}', 'a.b', '1', '{}'],
  ],
  $addToSet: [
    ['{"a":[{"x":1,"y":2}]}', 'a', '{"y":2,"x":1}', '{"a":[{"x":1,"y":2}]}'],
    ['{"a":[1]}', 'a', '2', '{"a":[1,2]}'],
    ['{}', 'a', '2', '{"a":[2]}'],
  ],
  $pop: [
    ['{"a":[1,2,3]}', 'a', '1', '{"a":[1,2]}'],
    ['{"a":[1,2,3]}', 'a', '-1', '{"a":[2,3]}'],
    ['{"a":[]}', 'a', '1', '{"a":[]}'],
    ['{}', 'a', '1', '{}'],
  ],
  $currentDate: [['{}', 'a.t', undefined, '{"a":{"t":"2026-01-02T03:04:05.678Z"}}']],
  $rename: [
    ['{"a":1,"b":2}', 'a', '"c.d"', '{"b":2,"c":{"d":1}}'],
    ['{"a":1}', 'a', '"$.b"', '{"b":1}'],
    ['{"a":1,"b":2}', 'a', '"b"', '{"b":1}'],
    ['{"a":1}', 'a', '"a.b"', '{"a":{"b":1}}'],
    ['{"a":1}', 'x', '"y"', '{"a":1}'],
  ],
}

describe('applyTransformsSliced', () => {
  for (const [op, rows] of Object.entries(examples)) {
    for (const [before, path, value, after] of rows) {
      it(`${op} at ${path} with ${value} makes ${after} of ${before}`, () => {
        expect(transform(before, operation(op, path, value))).to.equal(after)
      })
    }
  }

  it('skips an absent document unless the request upserts', () => {
    expect(transform(undefined, operation('$inc', 'n', '1'))).to.equal(undefined)
    expect(transform(undefined, operation('$inc', 'n', '1'), true)).to.equal('{"n":1}')
  })

  it('applies operations in order', () => {
    const operations =
      '[{"op":"$set","path":"a","value":2},{"op":"$mul","path":"a","value":5},{"op":"$rename","path":"a","value":"b"}]'
    expect(transform('{}', operations)).to.equal('{"b":10}')
  })

  it('calculates exactly with numbers of any size', () => {
    fc.assert(
      fc.property(
        fc.array(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), { maxLength: 10 }),
        (steps) => {
          let document = '{"n":0}'
          for (const step of steps) {
            document = transform(document, operation('$inc', 'n', `${step}`))!
          }
          expect(document).to.equal(`{"n":${steps.reduce((sum, step) => sum + step, 0n)}}`)
        },
      ),
    )
  })

  const misfits: [string, string, string][] = [
    [
      '{"a":"x"}',
      operation('$inc', 'a', '1'),
      'transform of "k": $inc at "a": found string, not number',
    ],
    ['{"a":null}', operation('$mul', 'a', '1'), 'found null, not number'],
    ['{"a":[]}', operation('$min', 'a', '1'), 'found array, not number'],
    ['{"a":{}}', operation('$max', 'a', '1'), 'found object, not number'],
    ['{"a":true}', operation('$push', 'a', '1'), 'found boolean, not array'],
    ['{"a":{}}', operation('$pull', 'a', '1'), 'found object, not array'],
    ['{"a":1}', operation('$addToSet', 'a', '1'), 'found number, not array'],
    ['{"a":12345678901234567890}', operation('$pop', 'a', '1'), 'found number, not array'],
    ['{"a":5}', operation('$set', 'a.b', '1'), '$set at "a.b": "a" is of type number, not object'],
    ['{"a":[{}]}', operation('$set', 'a.0', '1'), '"a" is of type array, not object'],
    ['{"a":1e308}', operation('$inc', 'a', '1e308'), 'the result is not a finite number'],
    ['{"a":1e308}', operation('$mul', 'a', '-10'), 'the result is not a finite number'],
    ['{"a":1,"b":2}', operation('$rename', 'a', '"b.c"'), '"b" is of type number, not object'],
  ]
  for (const [document, operations, message] of misfits) {
    it(`refuses ${operations} on ${document}`, () => {
      expect(() => transform(document, operations))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }
})

const parse = (text: string) => parseTransforms(Buffer.from(text), 'transforms')

const one = (inner: string) => `[{"key":"k","operations":[${inner}]}]`

describe('parseTransforms', () => {
  it('reads several requests for one key', () => {
    const requests = parse(`[{"key":"é","operations":[{"op":"$unset","path":"a"}]},
      {"key":"é","operations":[{"op":"$unset","path":"b"}],"upsert":true}]`)
    expect(requests.map(({ key, upsert }) => [String(key), upsert])).to.deep.equal([
      ['é', false],
      ['é', true],
    ])
  })

  const refused: Record<string, string> = {
    '5': 'transforms: must be an array, not number',
    '[null]': 'transforms[0]: must be an object, not null',
    '[{"operations":[]}]': 'transforms[0].key: must be a string',
    '[{"key":"","operations":[{"op":"$unset","path":"a"}]}]':
      'transforms[0].key: key must not be empty',
    '[{"key":"\\ud800","operations":[{"op":"$unset","path":"a"}]}]':
      'transforms[0].key: key is not valid',
    '[{"key":"k"}]': 'transforms[0].operations: must be an array of at least one operation',
    '[{"key":"k","operations":[]}]': 'transforms[0].operations: must be an array of at least one',
    '[{"key":"k","operations":[],"upsert":1}]': 'transforms[0].upsert: must be a boolean',
    '[{"key":"k","operations":[],"x":1}]': 'transforms[0]: unknown field "x"',
    [`[{"key":"k","operations":[${'{},'.repeat(1000)}{}]}]`]: 'operations: may hold at most 1000',
    [one('5')]: 'transforms[0].operations[0]: must be an object, not number',
    [one('{"op":"$set","path":"a","value":1},{"op":"$foo","path":"a"}')]:
      'transforms[0].operations[1].op: must be one of $set, $unset',
    [one('{"op":"constructor","path":"a"}')]: 'operations[0].op: must be one of',
    [one('{"path":"a"}')]: 'operations[0].op: must be one of',
    [one('{"op":"$unset"}')]: 'operations[0].path: must be a path',
    [one('{"op":"$unset","path":""}')]: 'operations[0].path: must be a path',
    [one('{"op":"$unset","path":"$."}')]: 'operations[0].path: empty segment',
    [one('{"op":"$unset","path":"a..b"}')]: 'operations[0].path: empty segment in path "a..b"',
    [one(`{"op":"$unset","path":"a${'.a'.repeat(100)}"}`)]: 'may have at most 100 segments',
    [one(`{"op":"$unset","path":"${'a'.repeat(1025)}"}`)]: 'at most 1024 characters, not 1025',
    [one('{"op":"$unset","path":"a","x":1}')]: 'operations[0]: unknown field "x"',
    [one('{"op":"$set","path":"a"}')]: 'operations[0].value: $set needs a value',
    [one('{"op":"$push","path":"a"}')]: 'operations[0].value: $push needs a value',
    [one('{"op":"$inc","path":"a","value":"1"}')]: 'operations[0].value: $inc needs a number',
    [one('{"op":"$mul","path":"a"}')]: 'operations[0].value: $mul needs a number',
    [one('{"op":"$max","path":"a","value":null}')]: 'operations[0].value: $max needs a number',
    [one('{"op":"$pop","path":"a","value":2}')]: 'operations[0].value: $pop needs 1 (the last',
    [one('{"op":"$rename","path":"a","value":1}')]:
      'operations[0].value: $rename needs the new path',
    [one('{"op":"$rename","path":"a","value":"b..c"}')]: 'operations[0].value: empty segment',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${text.slice(0, 80)}`, () => {
      expect(() => parse(text))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }
})
