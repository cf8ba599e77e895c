// A validating scanner for JSON text (RFC 8259) that builds no values: the first thing that touches
// every document written, and the loop that decides how fast documents come in.
//
// The caller has checked that the bytes are UTF-8. Two ways of use, which may be mixed:
//   - `scanValue` walks over one whole value and tells its extent and shape;
//   - `enterObject` and `nextMember` go through the members of one object, whose values the caller
//     consumes with `scanValue` or by entering them.
//
// Reading past the end gives 0, which is no legal byte anywhere in JSON; so the end of the text
// needs no check of its own.

import { ServiceError } from '../../lib/errors.ts'
import { MemberNames } from './member-names.ts'

/** Objects and arrays inside each other, the document itself included. */
export const DOCUMENT_DEPTH_MAX = 100

export type ValueKind = 'object' | 'array' | 'string' | 'number' | 'true' | 'false' | 'null'

export interface ValueShape {
  readonly kind: ValueKind
  /** Byte offsets: the value is `bytes.subarray(start, end)`. */
  readonly start: number
  readonly end: number
  /** Nesting of objects and arrays: 0 for a scalar, 1 for `{}`. */
  readonly depth: number
  /** Whether there is insignificant white space inside. */
  readonly hasWhitespace: boolean
  /** Whether an object inside may have two members of one name: may err to true, never to false. */
  readonly hasDuplicates: boolean
}

export interface ScannerOptions {
  readonly depthMax?: number
}

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const LOWER_U = 0x75
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const SPACE = 0x20
const ZERO = 0x30
const NINE = 0x39

const HASH_SEED = 0x811c9dc5 | 0
const HASH_FACTOR = 0x01000193

// Only an exponent or this many digits can carry a number beyond the largest double.
const SAFE_NUMBER_LENGTH_MAX = 300

const KIND_BY_FIRST_BYTE: ReadonlyMap<number, ValueKind> = new Map([
  [OPEN_BRACE, 'object'],
  [OPEN_BRACKET, 'array'],
  [QUOTE, 'string'],
  [0x74, 'true'],
  [0x66, 'false'],
  [0x6e, 'null'],
])

export class JsonScanner {
  readonly bytes: Buffer
  /** Offset of the next byte to look at. */
  position = 0
  /** The name last read by `nextMember`: the bytes between its quotes. */
  nameStart = 0
  nameEnd = 0
  nameHasEscapes = false
  /** A hash of the name's characters; equal names have equal hashes, however they are escaped. */
  nameHash = 0

  readonly #depthMax: number
  readonly #names: MemberNames
  readonly #closers: Uint8Array
  #depth = 0
  #depthSeen = 0
  #hasWhitespace = false
  #hasEscapes = false
  #isFirstMember = false

  constructor(bytes: Buffer, { depthMax = DOCUMENT_DEPTH_MAX }: ScannerOptions = {}) {
    this.bytes = bytes
    this.#depthMax = depthMax
    this.#names = new MemberNames()
    this.#closers = new Uint8Array(depthMax + 1)
  }

  skipWhitespace(): void {
    this.#nextByte()
  }

  scanValue(): ValueShape {
    this.skipWhitespace()
    this.#hasWhitespace = false
    this.#depth = 0
    this.#depthSeen = 0
    this.#names.reset()
    const start = this.position
    do {
      if (!this.#scanUntilValueEnds()) continue
      this.#scanUntilNextValue()
    } while (this.#depth > 0)
    return {
      kind: KIND_BY_FIRST_BYTE.get(this.bytes[start] ?? 0) ?? 'number',
      start,
      end: this.position,
      depth: this.#depthSeen,
      hasWhitespace: this.#hasWhitespace,
      hasDuplicates: this.#names.hasDuplicates,
    }
  }

  /** Enters the object that begins here. */
  enterObject(): void {
    if (this.#nextByte() !== OPEN_BRACE) this.#fail("'{'")
    this.position++
    this.#isFirstMember = true
  }

  /** Reads the next name and stops before its value; false once the object has ended. */
  nextMember(): boolean {
    const isFirst = this.#isFirstMember
    this.#isFirstMember = false
    const byte = this.#nextByte()
    if (byte === CLOSE_BRACE) {
      this.position++
      return false
    }
    if (!isFirst) {
      if (byte !== COMMA) this.#fail("',' or '}'")
      this.position++
    }
    this.#scanName(isFirst ? "a member name or '}'" : 'a member name')
    return true
  }

  expectEnd(): void {
    this.skipWhitespace()
    if (this.position < this.bytes.length) this.#fail('the end of the text')
  }

  /** Skips white space and returns the byte after it. */
  #nextByte(): number {
    const { bytes } = this
    let at = this.position
    let byte = bytes[at] ?? 0
    if (byte > SPACE) return byte
    while (byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09) {
      byte = bytes[++at] ?? 0
    }
    if (at !== this.position) this.#hasWhitespace = true
    this.position = at
    return byte
  }

  /** One step into a value: true if it has ended, false if it was opened and has something inside. */
  #scanUntilValueEnds(): boolean {
    const byte = this.#nextByte()
    if (byte === QUOTE) {
      this.#scanString()
      return true
    }
    if (byte === OPEN_BRACE) return this.#openObject()
    if (byte === OPEN_BRACKET) return this.#openArray()
    if (byte === MINUS || (byte >= ZERO && byte <= NINE)) {
      this.#scanNumber()
      return true
    }
    if (byte === 0x74) return this.#scanLiteral('true')
    if (byte === 0x66) return this.#scanLiteral('false')
    if (byte === 0x6e) return this.#scanLiteral('null')
    return this.#fail('a value')
  }

  /** After a value: closes what ends here and stops before the next value, if there is one. */
  #scanUntilNextValue(): void {
    while (this.#depth > 0) {
      const closer = this.#closers[this.#depth] ?? 0
      const byte = this.#nextByte()
      if (byte === COMMA) {
        this.position++
        if (closer === CLOSE_BRACE) this.#scanOwnName('a member name')
        return
      }
      if (byte !== closer) this.#fail(closer === CLOSE_BRACE ? "',' or '}'" : "',' or ']'")
      this.position++
      this.#depth--
    }
  }

  #openObject(): boolean {
    this.#open(CLOSE_BRACE)
    this.#names.enter(this.#depth)
    if (this.#nextByte() !== CLOSE_BRACE) {
      this.#scanOwnName("a member name or '}'")
      return false
    }
    this.position++
    this.#depth--
    return true
  }

  #openArray(): boolean {
    this.#open(CLOSE_BRACKET)
    if (this.#nextByte() !== CLOSE_BRACKET) return false
    this.position++
    this.#depth--
    return true
  }

  #open(closer: number): void {
    if (this.#depth === this.#depthMax) {
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `JSON at byte ${this.position} is nested deeper than ${this.#depthMax} levels`,
      )
    }
    this.position++
    this.#depth++
    if (this.#depth > this.#depthSeen) this.#depthSeen = this.#depth
    this.#closers[this.#depth] = closer
  }

  #scanOwnName(expected: string): void {
    this.#scanName(expected)
    this.#names.add(this.#depth, this.nameHash)
  }

  /** A name and its colon. */
  #scanName(expected: string): void {
    if (this.#nextByte() !== QUOTE) this.#fail(expected)
    const { bytes } = this
    const start = this.position + 1
    let at = start
    let hash = HASH_SEED
    let byte = bytes[at] ?? 0
    while (byte !== QUOTE && byte !== BACKSLASH && byte >= SPACE) {
      hash = Math.imul(hash ^ byte, HASH_FACTOR)
      byte = bytes[++at] ?? 0
    }
    this.nameStart = start
    if (byte === QUOTE) {
      this.position = at + 1
      this.nameHasEscapes = false
      this.nameHash = hash
    } else {
      this.#scanString()
      this.nameHasEscapes = this.#hasEscapes
      this.nameHash = hashOfText(readString(bytes, start, this.position - 1, true))
    }
    this.nameEnd = this.position - 1
    if (this.#nextByte() !== COLON) this.#fail("':'")
    this.position++
    this.#nextByte()
  }

  #scanString(): void {
    const { bytes } = this
    let at = this.position + 1
    this.#hasEscapes = false
    for (;;) {
      let byte = bytes[at] ?? 0
      while (byte !== QUOTE && byte !== BACKSLASH && byte >= SPACE) byte = bytes[++at] ?? 0
      if (byte === QUOTE) break
      this.position = at
      if (byte !== BACKSLASH) this.#fail('a string to end, or its control character escaped')
      at = this.#scanEscape(at + 1)
      this.#hasEscapes = true
    }
    this.position = at + 1
  }

  /** Returns the offset behind the escape sequence whose letter is at `at`. */
  #scanEscape(at: number): number {
    const letter = this.bytes[at] ?? 0
    if (letter === LOWER_U) {
      for (let digit = at + 1; digit <= at + 4; digit++) {
        if (isHexDigit(this.bytes[digit] ?? 0)) continue
        this.position = digit
        this.#fail('a hexadecimal digit')
      }
      return at + 5
    }
    if (!isEscapeLetter(letter)) {
      this.position = at
      this.#fail('one of " \\ / b f n r t u after a backslash')
    }
    return at + 1
  }

  #scanNumber(): void {
    const { bytes } = this
    const start = this.position
    let at = start
    if (bytes[at] === MINUS) at++
    at = bytes[at] === ZERO ? at + 1 : this.#scanDigits(at)
    if (bytes[at] === DOT) at = this.#scanDigits(at + 1)
    const mark = bytes[at] ?? 0
    const hasExponent = mark === 0x65 || mark === 0x45
    if (hasExponent) {
      const sign = bytes[at + 1] ?? 0
      at = this.#scanDigits(sign === MINUS || sign === 0x2b ? at + 2 : at + 1)
    }
    if (hasExponent || at - start > SAFE_NUMBER_LENGTH_MAX) this.#checkMagnitude(start, at)
    this.position = at
  }

  /** Returns the offset behind one or more digits. */
  #scanDigits(from: number): number {
    const { bytes } = this
    let at = from
    let byte = bytes[at] ?? 0
    while (byte >= ZERO && byte <= NINE) byte = bytes[++at] ?? 0
    if (at === from) {
      this.position = at
      this.#fail('a digit')
    }
    return at
  }

  #checkMagnitude(start: number, end: number): void {
    if (Number.isFinite(Number(this.bytes.toString('latin1', start, end)))) return
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `number at byte ${start} is beyond the range of a double (1.8e308)`,
    )
  }

  #scanLiteral(literal: 'true' | 'false' | 'null'): true {
    const { bytes, position } = this
    for (let index = 1; index < literal.length; index++) {
      if (bytes[position + index] === literal.charCodeAt(index)) continue
      this.#fail(`'${literal}'`)
    }
    this.position = position + literal.length
    return true
  }

  #fail(expected: string): never {
    const found = this.position < this.bytes.length ? '' : ', but the text ends'
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `malformed JSON at byte ${this.position}: expected ${expected}${found}`,
    )
  }
}

/** The characters of a scanned string, given the extent between its quotes. */
export function readString(bytes: Buffer, start: number, end: number, hasEscapes: boolean): string {
  if (!hasEscapes) return bytes.toString('utf8', start, end)
  const text: unknown = JSON.parse(bytes.toString('utf8', start - 1, end + 1))
  return String(text)
}

/** The hash that a name without escapes gets while it is scanned. */
function hashOfText(text: string): number {
  let hash = HASH_SEED
  for (const byte of Buffer.from(text, 'utf8')) hash = Math.imul(hash ^ byte, HASH_FACTOR)
  return hash
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20
  return (byte >= ZERO && byte <= NINE) || (lower >= 0x61 && lower <= 0x66)
}

function isEscapeLetter(byte: number): boolean {
  return '"\\/bfnrt'.includes(String.fromCharCode(byte))
}
