// Plain data of any shape: the requests and answers of indexes, which only their kinds know. Everything
// that a structured clone keeps and that they use survives: undefined, numbers that are not finite, -0,
// bigints, lone surrogates, buffers, typed arrays, maps and sets. Format: docs/reference/formats/shard-calls.md.

import { assert } from '../../../../lib/assert.ts'
import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { malformed, type WireReader } from './wire-reader.ts'
import type { WireWriter } from './wire-writer.ts'

const TAG = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  integer: 4,
  double: 5,
  bigint: 6,
  text: 7,
  units: 8,
  bytes: 9,
  array: 10,
  object: 11,
  map: 12,
  set: 13,
} as const

/** By number; the elements are little-endian. */
const ARRAYS = [
  Uint8Array,
  Int8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
  BigUint64Array,
  BigInt64Array,
] as const
/** In place of a number of ARRAYS. */
const BUFFER = 255
const INTEGER_MAX = 0x7fff_ffff
/** The depth of a legal request is below it, and the stack takes far more. */
const DEPTH_MAX = 512
/** Written or read in about a millisecond. */
const VALUES_PER_STEP = 4000

/** Asserts that the value is plain data. */
export function writeValue(out: WireWriter, value: unknown): Sliced<void> {
  return write({ out, meter: new StepMeter(VALUES_PER_STEP) }, value)
}

/** Throws CORRUPTION for bytes that are not a value, and for more than `valuesMax` values inside it. */
export function readValue(from: WireReader, valuesMax: number): Sliced<unknown> {
  const left = { values: valuesMax }
  return read({ from, meter: new StepMeter(VALUES_PER_STEP), left, depth: 0 })
}

interface Writing {
  readonly out: WireWriter
  readonly meter: StepMeter
}

function* write(writing: Writing, value: unknown): Sliced<void> {
  const { out, meter } = writing
  if (meter.spend(1)) yield
  if (writeScalar(out, value)) return
  if (Array.isArray(value)) {
    out.u8(TAG.array).u32(value.length)
    for (const item of value) yield* write(writing, item)
  } else if (value instanceof Map) {
    out.u8(TAG.map).u32(value.size)
    for (const [key, item] of value) {
      yield* write(writing, key)
      yield* write(writing, item)
    }
  } else if (value instanceof Set) {
    out.u8(TAG.set).u32(value.size)
    for (const item of value) yield* write(writing, item)
  } else {
    const entries = entriesOf(value)
    out.u8(TAG.object).u32(entries.length)
    for (const [name, item] of entries) {
      writeText(out, name)
      yield* write(writing, item)
    }
  }
}

function entriesOf(value: unknown): [string, unknown][] {
  assert(typeof value === 'object' && value !== null, 'plain data')
  const prototype: unknown = Object.getPrototypeOf(value)
  assert(prototype === null || prototype === Object.prototype, 'an object without a class')
  return Object.entries(value)
}

/** Answers false for a value with parts. */
function writeScalar(out: WireWriter, value: unknown): boolean {
  if (value === undefined) out.u8(TAG.undefined)
  else if (value === null) out.u8(TAG.null)
  else if (typeof value === 'boolean') out.u8(value ? TAG.true : TAG.false)
  else if (typeof value === 'number') writeNumber(out, value)
  else if (typeof value === 'bigint') out.u8(TAG.bigint).text(value.toString())
  else if (typeof value === 'string') writeText(out, value)
  else if (ArrayBuffer.isView(value)) writeBytes(out, value)
  else return false
  return true
}

function writeNumber(out: WireWriter, value: number): void {
  const isShort = Number.isInteger(value) && Math.abs(value) <= INTEGER_MAX && !Object.is(value, -0)
  if (isShort) out.u8(TAG.integer).u32(value >>> 0)
  else out.u8(TAG.double).number(value)
}

function writeText(out: WireWriter, value: string): void {
  if (value.isWellFormed()) out.u8(TAG.text).text(value)
  else out.u8(TAG.units).bytes(Buffer.from(value, 'utf16le'))
}

function writeBytes(out: WireWriter, value: ArrayBufferView): void {
  const kind = Buffer.isBuffer(value) ? BUFFER : ARRAYS.findIndex((of) => value instanceof of)
  assert(kind >= 0, 'a typed array of a known kind')
  const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  out.u8(TAG.bytes).u8(kind).bytes(bytes)
}

interface Reading {
  readonly from: WireReader
  readonly meter: StepMeter
  /** A value takes up to 16 times the memory of its bytes. */
  readonly left: { values: number }
  readonly depth: number
}

function* read(reading: Reading): Sliced<unknown> {
  const { from, meter, left } = reading
  if (meter.spend(1)) yield
  left.values -= 1
  if (left.values < 0) throw malformed('too many values')
  const tag = from.u8()
  if (tag < TAG.array) return readScalar(from, tag)
  const depth = reading.depth + 1
  if (depth > DEPTH_MAX) throw malformed('values inside each other, too deep')
  return yield* readParts({ ...reading, depth }, tag)
}

function* readParts(inner: Reading, tag: number): Sliced<unknown> {
  const count = inner.from.u32()
  switch (tag) {
    case TAG.array: {
      const items: unknown[] = []
      for (let left = count; left > 0; left--) items.push(yield* read(inner))
      return items
    }
    case TAG.object:
      return yield* readObject(inner, count)
    case TAG.map: {
      const map = new Map<unknown, unknown>()
      for (let left = count; left > 0; left--) map.set(yield* read(inner), yield* read(inner))
      return map
    }
    case TAG.set: {
      const set = new Set<unknown>()
      for (let left = count; left > 0; left--) set.add(yield* read(inner))
      return set
    }
    default:
      throw malformed(`the tag ${tag}`)
  }
}

function* readObject(inner: Reading, count: number): Sliced<Record<string, unknown>> {
  const object: Record<string, unknown> = {}
  for (let left = count; left > 0; left--) {
    const name = readScalar(inner.from, inner.from.u8())
    if (typeof name !== 'string') throw malformed('a member without a name')
    const value = yield* read(inner)
    defineMember(object, name, value)
  }
  return object
}

function defineMember(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') {
    object[name] = value
    return
  }
  // An assignment to this name would change the prototype.
  const member = { value, enumerable: true, writable: true, configurable: true }
  Object.defineProperty(object, name, member)
}

function readScalar(from: WireReader, tag: number): unknown {
  switch (tag) {
    case TAG.undefined:
      return undefined
    case TAG.null:
      return null
    case TAG.false:
      return false
    case TAG.true:
      return true
    case TAG.integer:
      return from.u32() | 0
    case TAG.double:
      return from.number()
    case TAG.bigint:
      return readBigint(from)
    case TAG.text:
      return from.text()
    case TAG.units:
      return from.bytes().toString('utf16le')
    case TAG.bytes:
      return readBytes(from)
    default:
      throw malformed(`the tag ${tag}`)
  }
}

/** The time to read digits grows with the square of their number. */
const DIGITS_MAX = 1000

function readBigint(from: WireReader): bigint {
  const digits = from.text()
  if (digits.length <= DIGITS_MAX && /^-?\d+$/.test(digits)) return BigInt(digits)
  throw malformed('a bigint that is not in decimal digits')
}

function readBytes(from: WireReader): ArrayBufferView {
  const kind = from.u8()
  const bytes = from.bytes()
  if (kind === BUFFER) return bytes
  const Elements = ARRAYS[kind]
  if (Elements === undefined) throw malformed(`an array of kind ${kind}`)
  const { BYTES_PER_ELEMENT: width } = Elements
  if (bytes.length % width !== 0) throw malformed('an array with a part of an element')
  // A copy: elements are aligned, and the array does not keep the whole message.
  return new Elements(new Uint8Array(bytes).buffer)
}
