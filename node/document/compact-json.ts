// The stored form of a document: the client's own bytes without insignificant white space and
// without duplicate members.

import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import { parseExact, stringifyExact } from './exact-json.ts'
import { must } from '../../lib/assert.ts'
import { JsonScanner, kindAt, readString, SCAN_STEP_BYTES } from './json-scanner.ts'
import { hashOfName } from './name-hash.ts'
import { HashSet } from './hash-set.ts'
import { TextWriter } from './text-writer.ts'
import type { ValueShape } from './json-scanner.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** A text of this length or less is rewritten in one step. */
const SMALL_BYTES_MAX = 32 * 1024
const COPY_STEP_BYTES = 128 * 1024
/** What a member costs beside its bytes. The unit is bytes. */
const MEMBER_COST_BYTES = 200
/** A power of two, because the low bits of a hash choose the map. */
const MAPS = 256

/** Whether `compactJson` would return the bytes unchanged. */
export function isCompact({ hasWhitespace, hasDuplicates }: ValueShape): boolean {
  return !hasWhitespace && !hasDuplicates
}

/**
 * The compact form of a value in `bytes`, whose `shape` the scanner has answered. Copies only if
 * the value needs a change.
 */
export function* compactJson(bytes: Buffer, shape: ValueShape): Sliced<Buffer> {
  const value = bytes.subarray(shape.start, shape.end)
  const compact = shape.hasWhitespace ? yield* withoutWhitespace(value) : value
  // If a name occurs several times, its last member counts, as in every JSON parser.
  return shape.hasDuplicates ? yield* withoutDuplicates(compact) : compact
}

function* withoutWhitespace(value: Buffer): Sliced<Buffer> {
  const compact = Buffer.allocUnsafe(value.length)
  const copy: Copy = { length: 0, inString: false, isEscaped: false }
  for (let at = 0; at < value.length; at += COPY_STEP_BYTES) {
    if (at > 0) yield
    copyWithoutWhitespace(value.subarray(at, at + COPY_STEP_BYTES), compact, copy)
  }
  return compact.subarray(0, copy.length)
}

interface Copy {
  length: number
  inString: boolean
  isEscaped: boolean
}

function copyWithoutWhitespace(value: Buffer, compact: Buffer, copy: Copy): void {
  let { length, inString, isEscaped } = copy
  for (const byte of value) {
    if (inString) {
      if (isEscaped) isEscaped = false
      else if (byte === BACKSLASH) isEscaped = true
      else inString = byte !== QUOTE
    } else if (byte <= SPACE) {
      continue
    } else {
      inString = byte === QUOTE
    }
    compact[length++] = byte
  }
  Object.assign(copy, { length, inString, isEscaped })
}

function* withoutDuplicates(value: Buffer): Sliced<Buffer> {
  if (value.length <= SMALL_BYTES_MAX) return small(value)
  const writer = new TextWriter(value.length)
  yield* writeValue(writer, value)
  return writer.finish()
}

function small(value: Buffer): Buffer {
  return Buffer.from(stringifyExact(parseExact(value)), 'utf8')
}

function* writeValue(writer: TextWriter, value: Buffer): Sliced<void> {
  const kind = kindAt(value, 0)
  const isContainer = kind === 'object' || kind === 'array'
  if (!isContainer) writer.append(value)
  else if (value.length <= SMALL_BYTES_MAX) writer.append(small(value))
  else if (kind === 'object') yield* writeObject(writer, value)
  else yield* writeArray(writer, value)
}

function* writeArray(writer: TextWriter, value: Buffer): Sliced<void> {
  const scanner = new JsonScanner(value)
  const meter = new StepMeter(SCAN_STEP_BYTES)
  scanner.enterArray()
  writer.appendByte(OPEN_BRACKET)
  const start = writer.length
  while (scanner.nextElement()) {
    if (writer.length > start) writer.appendByte(COMMA)
    const element = yield* nextValue(scanner, meter)
    yield* writeValue(writer, element)
  }
  writer.appendByte(CLOSE_BRACKET)
}

/** Keeps in memory only the names whose hash occurs twice. */
function* writeObject(writer: TextWriter, value: Buffer): Sliced<void> {
  const suspects = yield* suspectHashes(value)
  const last = yield* lastValues(value, suspects)
  const scanner = new JsonScanner(value)
  const meter = new StepMeter(SCAN_STEP_BYTES)
  scanner.enterObject()
  writer.appendByte(OPEN_BRACE)
  const start = writer.length
  while (scanner.nextMember()) {
    const { nameStart, nameEnd } = scanner
    const name = suspects.has(scanner.nameHash) ? nameOf(scanner) : undefined
    const own = yield* nextValue(scanner, meter)
    const kept = name === undefined ? own : last.take(name)
    if (kept === undefined) continue
    if (writer.length > start) writer.appendByte(COMMA)
    writer.append(value, nameStart - 1, nameEnd + 1)
    writer.appendByte(COLON)
    yield* writeValue(writer, kept)
  }
  writer.appendByte(CLOSE_BRACE)
}

function* suspectHashes(value: Buffer): Sliced<HashSet> {
  const scanner = new JsonScanner(value)
  const meter = new StepMeter(SCAN_STEP_BYTES)
  const seen = new HashSet()
  const twice = new HashSet()
  scanner.enterObject()
  while (scanner.nextMember()) {
    if (!seen.add(scanner.nameHash)) twice.add(scanner.nameHash)
    yield* nextValue(scanner, meter)
  }
  return twice
}

function* lastValues(value: Buffer, suspects: HashSet): Sliced<LastValues> {
  const scanner = new JsonScanner(value)
  const meter = new StepMeter(SCAN_STEP_BYTES)
  const last = new LastValues()
  scanner.enterObject()
  while (scanner.nextMember()) {
    const name = suspects.has(scanner.nameHash) ? nameOf(scanner) : undefined
    const own = yield* nextValue(scanner, meter)
    if (name !== undefined) last.set(name, own)
  }
  return last
}

/**
 * The last value of each name. Many maps hold them, because a large map stops the thread while it
 * grows.
 */
class LastValues {
  readonly #maps = Array.from({ length: MAPS }, () => new Map<string, Buffer>())

  set(name: string, value: Buffer): void {
    this.#mapOf(name).set(name, value)
  }

  /** Removes and returns the value. Answers undefined for a name that was taken before. */
  take(name: string): Buffer | undefined {
    const map = this.#mapOf(name)
    const value = map.get(name)
    map.delete(name)
    return value
  }

  #mapOf(name: string): Map<string, Buffer> {
    return must(this.#maps[hashOfName(name) & (MAPS - 1)], 'a map for every hash')
  }
}

function* nextValue(scanner: JsonScanner, meter: StepMeter): Sliced<Buffer> {
  scanner.beginValue()
  const start = scanner.position
  while (!scanner.scanSome(SCAN_STEP_BYTES)) yield
  if (meter.spend(scanner.position - start + MEMBER_COST_BYTES)) yield
  return scanner.bytes.subarray(start, scanner.position)
}

function nameOf({ bytes, nameStart, nameEnd, nameHasEscapes }: JsonScanner): string {
  return readString(bytes, nameStart, nameEnd, nameHasEscapes)
}
