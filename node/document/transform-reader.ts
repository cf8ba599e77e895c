// Reads the transforms of a request body and checks them.

import { ServiceError } from '../../lib/errors.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { compactJson } from './compact-json.ts'
import { at, parseDocumentKey } from './document-limits.ts'
import { parseExact } from './exact-json.ts'
import { parseFieldPath } from './field-path.ts'
import { SCAN_STEP_BYTES, kindAt, readString, type JsonScanner } from './json-scanner.ts'
import { kindName } from './document-editor.ts'
import { SPECIAL_NAMES } from './special-names.ts'
import { segmentsOf, TRANSFORM_OPERATORS, type TransformOperator } from './transform-operators.ts'
import type { JsonValue } from './exact-json.ts'
import type { TransformOperation, TransformRequest } from './transform-request.ts'

const TRANSFORM_OPERATIONS_MAX = 1000
const PATH_SEGMENTS_MAX = 100
const TRANSFORM_FIELDS = ['key', 'operations', 'upsert']
const OPERATION_FIELDS = ['op', 'path', 'value']
/** No legal key, path or operator is longer, so the reader parses nothing longer for one. */
const SHORT_BYTES_MAX = 64 * 1024

type Members = ReadonlyMap<string, Buffer>

/**
 * Reads an array of transforms. `count` is called before each operation is kept, and may throw to
 * refuse it.
 */
export function* readTransforms(
  scanner: JsonScanner,
  where: string,
  count: (operations: number) => void,
): Sliced<readonly TransformRequest[]> {
  expectKind(scanner, where, 'array')
  const transforms: TransformRequest[] = []
  scanner.enterArray()
  while (scanner.nextElement()) {
    const place = `${where}[${transforms.length}]`
    transforms.push(yield* readTransform(scanner, place, count))
    yield
  }
  return transforms
}

function* readTransform(
  scanner: JsonScanner,
  where: string,
  count: (operations: number) => void,
): Sliced<TransformRequest> {
  let operations: readonly Members[] | undefined
  const members = new Map<string, Buffer>()
  enterObject(scanner, where)
  for (let name = nextField(scanner, where, TRANSFORM_FIELDS); name !== undefined;) {
    if (name === 'operations') {
      operations = yield* readOperations(scanner, `${where}.operations`, count)
    } else {
      members.set(name, yield* readCompact(scanner))
    }
    name = nextField(scanner, where, TRANSFORM_FIELDS)
  }
  const key = shortValueOf(members, 'key', where)
  if (typeof key !== 'string') refuse(`${where}.key`, 'must be a string')
  const upsert = shortValueOf(members, 'upsert', where) ?? false
  if (typeof upsert !== 'boolean') refuse(`${where}.upsert`, 'must be a boolean')
  if (operations === undefined || operations.length === 0) {
    return refuse(`${where}.operations`, 'must be an array of at least one operation')
  }
  return {
    key: at(`${where}.key`, () => parseDocumentKey(key)),
    operations: operations.map((entry, index) =>
      parseOperation(entry, `${where}.operations[${index}]`),
    ),
    upsert,
  }
}

function* readOperations(
  scanner: JsonScanner,
  where: string,
  count: (operations: number) => void,
): Sliced<readonly Members[]> {
  const operations: Members[] = []
  if (kindAt(scanner.bytes, scanner.position) !== 'array') {
    yield* scanner.scanValueSliced()
    return operations
  }
  scanner.enterArray()
  while (scanner.nextElement()) {
    if (operations.length === TRANSFORM_OPERATIONS_MAX) {
      refuse(where, `may hold at most ${TRANSFORM_OPERATIONS_MAX} operations`)
    }
    count(1)
    const place = `${where}[${operations.length}]`
    operations.push(yield* readMembers(scanner, place, OPERATION_FIELDS))
    if (operations.length % 100 === 0) yield
  }
  return operations
}

function parseOperation(members: Members, where: string): TransformOperation {
  const operator = shortValueOf(members, 'op', where)
  if (!isTransformOperator(operator)) {
    const known = Object.keys(TRANSFORM_OPERATORS).join(', ')
    return refuse(`${where}.op`, `must be one of ${known}`)
  }
  const path = parseTransformPath(shortValueOf(members, 'path', where), `${where}.path`)
  const value = members.get('value')
  const problem = TRANSFORM_OPERATORS[operator].problemOf(value)
  if (problem !== undefined) refuse(`${where}.value`, `${operator} needs ${problem}`)
  if (operator === '$rename') {
    parseTransformPath(shortValueOf(members, 'value', where), `${where}.value`)
  }
  return { operator, path, value: value ?? NULL }
}

const NULL = Buffer.from('null')

function isTransformOperator(value: JsonValue | undefined): value is TransformOperator {
  return typeof value === 'string' && Object.hasOwn(TRANSFORM_OPERATORS, value)
}

function parseTransformPath(value: JsonValue | undefined, where: string): readonly string[] {
  if (typeof value !== 'string' || value === '') {
    return refuse(where, 'must be a path such as "a.b" or "$.a.b"')
  }
  if (value === '$') {
    refuse(where, '"$" is the whole document; name a field of it, as in "$.a" (or "$.$")')
  }
  parseFieldPath(value.startsWith('$.') ? value.slice(2) : value, where)
  const segments = segmentsOf(value)
  const special = SPECIAL_NAMES.find((name) => name === segments[0])
  if (special !== undefined) {
    refuse(where, `${special} is no part of the document; write _embeddings with inserts`)
  }
  if (segments.length <= PATH_SEGMENTS_MAX) return segments
  return refuse(where, `may have at most ${PATH_SEGMENTS_MAX} segments`)
}

/** The members of an object, each as compact JSON. */
function* readMembers(
  scanner: JsonScanner,
  where: string,
  allowed: readonly string[],
): Sliced<Members> {
  const members = new Map<string, Buffer>()
  enterObject(scanner, where)
  for (let name = nextField(scanner, where, allowed); name !== undefined;) {
    members.set(name, yield* readCompact(scanner))
    name = nextField(scanner, where, allowed)
  }
  return members
}

function enterObject(scanner: JsonScanner, where: string): void {
  expectKind(scanner, where, 'object')
  scanner.enterObject()
}

/** Stops before the field's value. Answers undefined at the end of the object. */
function nextField(
  scanner: JsonScanner,
  where: string,
  allowed: readonly string[],
): string | undefined {
  if (!scanner.nextMember()) return undefined
  const { bytes, nameStart, nameEnd, nameHasEscapes } = scanner
  const name = readString(bytes, nameStart, nameEnd, nameHasEscapes)
  if (allowed.includes(name)) return name
  return refuse(where, `unknown field "${name}"; allowed are ${allowed.join(', ')}`)
}

function* readCompact(scanner: JsonScanner): Sliced<Buffer> {
  scanner.beginValue()
  while (!scanner.scanSome(SCAN_STEP_BYTES)) yield
  return yield* compactJson(scanner.bytes, scanner.shape)
}

function shortValueOf(members: Members, name: string, where: string): JsonValue | undefined {
  const text = members.get(name)
  if (text === undefined) return undefined
  if (text.length > SHORT_BYTES_MAX) {
    refuse(`${where}.${name}`, `has ${text.length} bytes, which is too long`)
  }
  return parseExact(text)
}

function expectKind(scanner: JsonScanner, where: string, wanted: 'array' | 'object'): void {
  scanner.skipWhitespace()
  const kind = kindAt(scanner.bytes, scanner.position)
  if (kind === wanted) return
  // The scan refuses text that is not JSON, with a better message.
  at(where, () => scanner.scanValue())
  refuse(where, `must be ${wanted === 'array' ? 'an array' : 'an object'}, not ${kindName(kind)}`)
}

function refuse(where: string, problem: string): never {
  throw new ServiceError('INVALID_ARGUMENT', `${where}: ${problem}`)
}
