// Few names, so that operations meet each other, and every one of them a trap for somebody.

import * as fc from 'fast-check'
import { countTo } from '../loads/load.ts'
import { valueOf } from '../loads/script-texts.ts'
import { numberOf } from './store-model.ts'
import type { Doc, Filter, Operation, Transform, Value, Writes } from './store-model.ts'

export const TABLES = ['t', 'Books.v1', 'constructor'] as const
export const KEYS = [
  'a',
  'a/b',
  'é',
  'e\u0301', // another key than the one before
  '\u{1f600}', // behind U+FFFD by bytes, before it by UTF-16 units
  '\ufffd',
  'nul\u0000in',
  'k'.repeat(1024),
  '__proto__',
  'constructor',
  '100%2F',
  ' ',
] as const

/** Few, so that operations meet, and of many scripts. */
const SCRIPT_TEXTS = countTo(30).map((n) => valueOf(n * 3))

export const table = fc.constantFrom(...TABLES)
export const key = fc.constantFrom(...KEYS, ...SCRIPT_TEXTS.slice(0, 16))
/** Small ones, and those that a double would round. */
const whole = fc.oneof(
  fc.integer({ min: -9, max: 9 }).map(BigInt),
  fc.constantFrom(2n ** 53n + 1n, 2n ** 53n - 1n, -(2n ** 63n) - 1n),
  fc.bigInt(-(2n ** 70n), 2n ** 70n),
)
const integer = whole.map(numberOf)
const text = fc.constantFrom('', 'north', 'norse', 'ünï', 'a\u0000"\\\u2028', ...SCRIPT_TEXTS)
const scalar: fc.Arbitrary<Value> = fc.oneof(integer, text, fc.boolean(), fc.constant(null))
const list = fc.array(fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), { maxLength: 3 })
const deep = members(
  fc.tuple(fc.constantFrom('n', 's', '__proto__', 'constructor'), fc.oneof(scalar, list)),
)

export const doc: fc.Arbitrary<Doc> = members(
  fc.oneof(
    fc.tuple(fc.constant('n'), fc.oneof({ weight: 4, arbitrary: integer }, scalar)),
    fc.tuple(fc.constant('s'), text),
    fc.tuple(fc.constant('list'), list),
    fc.tuple(fc.constant('deep'), fc.oneof({ weight: 4, arbitrary: deep }, scalar)),
    fc.tuple(fc.constantFrom('__proto__', 'constructor', 'toString'), fc.oneof(scalar, deep)),
    fc.tuple(fc.constant('_type'), fc.constantFrom('item', 'other')),
  ),
)

function members(member: fc.Arbitrary<[string, Value]>): fc.Arbitrary<Doc> {
  return fc.array(member, { maxLength: 4 }).map((all) => Object.fromEntries(all))
}

const path = fc.constantFrom('n', 's', 'list', 'deep', 'deep.n', '__proto__.n', 'constructor')
/** Mostly where a number is. */
const countedPath = fc.oneof({ weight: 3, arbitrary: fc.constant('n') }, path)
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ op: fc.constant('$set' as const), path, value: fc.oneof(scalar, list, deep) }),
  fc.record({ op: fc.constant('$inc' as const), path: countedPath, value: integer }),
  fc.record({ op: fc.constant('$push' as const), path, value: scalar }),
  fc.record({ op: fc.constant('$unset' as const), path }),
)
const transform: fc.Arbitrary<Transform> = fc.record({
  key,
  operations: fc.array(operation, { minLength: 1, maxLength: 3 }),
  upsert: fc.boolean(),
})

export const inserts = fc
  .array(fc.tuple(key, doc), { maxLength: 4 })
  .map((all) => [...new Map(all)])

export const writes: fc.Arbitrary<Writes> = fc.record({
  inserts,
  deletes: fc.array(key, { maxLength: 2 }),
  transforms: fc.oneof(
    fc.constant<readonly Transform[]>([]),
    fc.array(transform, { maxLength: 2 }),
  ),
})

export const field = fc.constantFrom('n', 's', 'deep', 'deep.n', 'list', '__proto__', 'missing')
export const fields = fc.array(
  fc.tuple(fc.boolean(), field).map(([isLeftOut, name]) => (isLeftOut ? `-${name}` : name)),
  { minLength: 1, maxLength: 3 },
)

const plainFilter: fc.Arbitrary<Filter> = fc.oneof(
  fc.record({ term: fc.constantFrom('north', 'ünï', ...SCRIPT_TEXTS), field: fc.constant('s') }),
  fc.record({ prefix: fc.constantFrom('nor', ...SCRIPT_TEXTS), field: fc.constant('s') }),
  fc.tuple(whole, whole).map(([a, b]) => ({
    min: numberOf(a < b ? a : b),
    max: numberOf(a < b ? b : a),
    field: 'n',
  })),
  fc.record({ ids: fc.array(key, { maxLength: 4 }) }),
)
export const filter: fc.Arbitrary<Filter> = fc.oneof(
  plainFilter,
  plainFilter.map((inner) => ({ must_not: inner })),
)
