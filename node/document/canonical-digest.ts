// A digest of the meaning of a JSON text. Two texts have the same digest exactly if they are equal
// by `sameValue`: the order of members and the spelling of numbers and strings do not matter.
//
//   number, literal, short string   their canonical text
//   long string                     # and the SHA-256 of its UTF-16 code units
//   array                           [ and the SHA-256 of the digests of its elements
//   object                          { and the sum of the SHA-256 of its members, modulo 2^32 by
//                                   word, so that the order of members does not matter

import { createHash, hash } from 'node:crypto'
import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import { isRawNumber, parseExact } from './exact-json.ts'
import { isJsonArray, isJsonObject, withoutMember } from './json-object.ts'
import { JsonScanner, kindAt, readString, SCAN_STEP_BYTES } from './json-scanner.ts'
import { StringPieces } from './long-string.ts'
import type { JsonNumber } from './json-number.ts'
import type { JsonValue } from './exact-json.ts'

/** A text of this length or less is parsed and digested in one step. */
const SMALL_BYTES_MAX = 4096
const SHORT_STRING_LENGTH_MAX = 40
/** What one hash costs. The unit is bytes of scanning. */
const HASH_COST_BYTES = 500

/** The digest of `json`, which is compact JSON without duplicate member names. */
export function* digestOf(json: Buffer): Sliced<string> {
  if (json.length <= SMALL_BYTES_MAX) return digestOfValue(parseExact(json))
  const kind = kindAt(json, 0)
  if (kind === 'object') return yield* digestOfObject(json)
  if (kind === 'array') return yield* digestOfArray(json)
  return kind === 'string' ? yield* digestOfString(json) : digestOfValue(parseExact(json))
}

/** The digest of a document, as `digestOf` computes it, without one of its members. */
export function* digestWithout(json: Buffer, member: string): Sliced<string> {
  if (json.length > SMALL_BYTES_MAX) return yield* digestOfObject(json, member)
  const document = parseExact(json)
  return digestOfValue(isJsonObject(document) ? withoutMember(document, member) : document)
}

function* digestOfObject(json: Buffer, without?: string): Sliced<string> {
  const scanner = new JsonScanner(json)
  const meter = new StepMeter(SCAN_STEP_BYTES)
  const sum = new MemberSum()
  scanner.enterObject()
  while (scanner.nextMember()) {
    const name = readString(json, scanner.nameStart, scanner.nameEnd, scanner.nameHasEscapes)
    const digest = yield* digestOfNext(scanner, meter)
    if (name !== without) sum.add(name, digest)
  }
  return sum.digest()
}

function* digestOfArray(json: Buffer): Sliced<string> {
  const scanner = new JsonScanner(json)
  const meter = new StepMeter(SCAN_STEP_BYTES)
  const elements = createHash('sha256')
  scanner.enterArray()
  while (scanner.nextElement()) elements.update(`${yield* digestOfNext(scanner, meter)},`)
  return `[${elements.digest('base64')}`
}

function* digestOfNext(scanner: JsonScanner, meter: StepMeter): Sliced<string> {
  scanner.beginValue()
  const start = scanner.position
  while (!scanner.scanSome(SCAN_STEP_BYTES)) yield
  const value = scanner.bytes.subarray(start, scanner.position)
  if (value.length > SMALL_BYTES_MAX) return yield* digestOf(value)
  if (meter.spend(HASH_COST_BYTES + value.length * 10)) yield
  return digestOfValue(parseExact(value))
}

function* digestOfString(json: Buffer): Sliced<string> {
  const units = createHash('sha256')
  const pieces = new StringPieces(json)
  for (let piece = pieces.next(); piece !== undefined; piece = pieces.next()) {
    units.update(Buffer.from(piece, 'utf16le'))
    yield
  }
  return `#${units.digest('base64')}`
}

function digestOfValue(value: JsonValue): string {
  if (typeof value === 'string') return digestOfText(value)
  if (typeof value === 'number' || isRawNumber(value)) return canonicalNumber(value)
  if (isJsonArray(value)) {
    return `[${hash('sha256', value.map((element) => `${digestOfValue(element)},`).join(''), 'base64')}`
  }
  if (!isJsonObject(value)) return String(value)
  const sum = new MemberSum()
  for (const [name, member] of Object.entries(value)) sum.add(name, digestOfValue(member))
  return sum.digest()
}

function digestOfText(text: string): string {
  if (text.length <= SHORT_STRING_LENGTH_MAX) return JSON.stringify(text)
  return `#${hash('sha256', Buffer.from(text, 'utf16le'), 'base64')}`
}

/**
 * An integer becomes its digits, whatever its spelling. Another number becomes its shortest text,
 * or its only one.
 */
function canonicalNumber(value: JsonNumber): string {
  if (isRawNumber(value)) return value.rawJSON
  const text = String(value)
  return Number.isInteger(value) && !/^-?\d+$/.test(text) ? BigInt(value).toString() : text
}

class MemberSum {
  readonly #words = new Uint32Array(8)

  add(name: string, digest: string): void {
    const member = hash('sha256', `${JSON.stringify(name)}:${digest}`, 'buffer')
    for (let word = 0; word < this.#words.length; word++) {
      this.#words[word] = (this.#words[word] ?? 0) + member.readUInt32LE(4 * word)
    }
  }

  digest(): string {
    return `{${Buffer.from(this.#words.buffer).toString('base64')}`
  }
}
