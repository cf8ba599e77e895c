// Parses JSON of any length in steps: what is large is walked through, and what is small is parsed at once.

import { ServiceError } from '../../lib/errors.ts'
import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import { parseExact, type JsonObject, type JsonValue } from './exact-json.ts'
import { isJsonObject, ObjectBuilder, withoutMember } from './json-object.ts'
import { JsonScanner, kindAt, readString, SCAN_STEP_BYTES } from './json-scanner.ts'
import { readLongString } from './long-string.ts'

/** Parsed in about half a millisecond. */
const SMALL_BYTES_MAX = 32 * 1024
/** What a member costs beside its bytes. The unit is bytes. */
const MEMBER_COST_BYTES = 64
/** The members of one object. V8 makes room for twice as many in one step, which is longer the more there are. */
const MEMBERS_MAX = 200_000
/** The elements of one list: V8 copies a list into a larger one in one step, too. A template takes no more steps than that. */
const ELEMENTS_MAX = 1_000_000
const TOO_MANY_MEMBERS = `an object that is read whole has more than ${MEMBERS_MAX} members; put them into several objects, or into a list`
const TOO_MANY_ELEMENTS = `a list that is read whole has more than ${ELEMENTS_MAX} elements; put them into several lists`
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])

/**
 * Parses as `parseExact` does what a client has sent: with white space around it, or not JSON at all. Values nest about
 * 100 levels deep.
 */
export function* parseSentInParts(json: Buffer): Sliced<JsonValue> {
  if (json.length <= SMALL_BYTES_MAX) return parseExact(json)
  const from = json.findIndex((byte) => !SPACES.has(byte))
  const to = json.findLastIndex((byte) => !SPACES.has(byte)) + 1
  const value = json.subarray(Math.max(0, from), to)
  const kind = kindAt(value, 0)
  return kind === 'object' || kind === 'array' ? yield* parseInParts(value) : parseExact(value)
}

/**
 * Parses as `parseExact` does; `json` is JSON of one value, with nothing around it. INVALID_ARGUMENT for an object of
 * more than 200,000 members, and for a list of more than 1,000,000 elements.
 */
export function* parseInParts(json: Buffer): Sliced<JsonValue> {
  if (json.length <= SMALL_BYTES_MAX) return parseExact(json)
  const kind = kindAt(json, 0)
  if (kind === 'object') return yield* parseMembers(json)
  if (kind === 'array') return yield* parseElements(json)
  return kind === 'string' ? yield* readLongString(json) : parseExact(json)
}

/** As `parseInParts`, without one member of the object that the value may be. */
export function* parseInPartsWithout(json: Buffer, left: string): Sliced<JsonValue> {
  if (json.length > SMALL_BYTES_MAX && kindAt(json, 0) === 'object') {
    return yield* parseMembers(json, left)
  }
  const value = yield* parseInParts(json)
  return isJsonObject(value) ? withoutMember(value, left) : value
}

function* parseMembers(json: Buffer, left?: string): Sliced<JsonObject> {
  const scanner = new JsonScanner(json)
  const meter = new StepMeter(SMALL_BYTES_MAX)
  const object = new ObjectBuilder()
  scanner.enterObject()
  while (scanner.nextMember()) {
    const { nameStart, nameEnd, nameHasEscapes } = scanner
    const name = readString(json, nameStart, nameEnd, nameHasEscapes)
    const value = yield* parseNext(scanner, meter)
    if (name === left) continue
    object.add(name, value)
    if (object.memberCount > MEMBERS_MAX) throw refused(TOO_MANY_MEMBERS)
  }
  checkEnd(scanner)
  return yield* object.finish()
}

function refused(why: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', why)
}

function* parseElements(json: Buffer): Sliced<JsonValue[]> {
  const scanner = new JsonScanner(json)
  const meter = new StepMeter(SMALL_BYTES_MAX)
  const elements: JsonValue[] = []
  scanner.enterArray()
  while (scanner.nextElement()) {
    if (elements.length === ELEMENTS_MAX) throw refused(TOO_MANY_ELEMENTS)
    elements.push(yield* parseNext(scanner, meter))
  }
  checkEnd(scanner)
  return elements
}

function checkEnd({ bytes, position }: JsonScanner): void {
  if (position === bytes.length) return
  throw new ServiceError('INVALID_ARGUMENT', `malformed JSON: more text behind byte ${position}`)
}

function* parseNext(scanner: JsonScanner, meter: StepMeter): Sliced<JsonValue> {
  scanner.beginValue()
  const start = scanner.position
  while (!scanner.scanSome(SCAN_STEP_BYTES)) yield
  const value = scanner.bytes.subarray(start, scanner.position)
  if (value.length > SMALL_BYTES_MAX) return yield* parseInParts(value)
  if (meter.spend(value.length + MEMBER_COST_BYTES)) yield
  return parseExact(value)
}
