// A scanner that validates JSON text (RFC 8259) and builds no values. It is the first code that
// reads each written document, and its loop decides the speed of ingestion.
//
// The caller has checked that the bytes are UTF-8. The scanner has three uses, which may be mixed:
//   - `scanValue` scans one whole value and answers its extent and shape;
//   - `beginValue` and `scanSome` do the same in steps of bounded length; then read `shape`;
//   - `enterObject` with `nextMember`, and `enterArray` with `nextElement`, walk through one
//     container. The caller consumes its values by scanning or entering them.
//
// Reading past the end gives 0, which is not legal in JSON, so the end needs no check of its own.

import { ServiceError } from '../../lib/errors.ts'
import { MemberNames } from './member-names.ts'
import { HASH_FACTOR, HASH_SEED, hashOfName } from './name-hash.ts'
import { isSpecialHash } from './special-names.ts'
import type { Sliced } from '../../lib/sliced.ts'

/** How deep objects and arrays may nest, with the document itself counted. */
export const DOCUMENT_DEPTH_MAX = 100
/** Bounds a step of any walk, because a walk reads a whole name in one step. */
export const MEMBER_NAME_BYTES_MAX = 64 * 1024
const DIGITS_MAX = 64 * 1024
const WHITESPACE_RUN_MAX = 1024 * 1024
/** About half a millisecond of scanning. */
export const SCAN_STEP_BYTES = 128 * 1024

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'true' | 'false' | 'null'

/** The extent and the shape of one scanned value. */
export interface ValueShape {
  readonly kind: JsonKind
  /** Byte offsets: the value is `bytes.subarray(start, end)`. */
  readonly start: number
  readonly end: number
  /** Nesting of objects and arrays: 0 for a scalar, 1 for `{}`. */
  readonly depth: number
  /** Whether the value contains insignificant white space. */
  readonly hasWhitespace: boolean
  /** Whether an object in the value may repeat a member name. False is certain, true is not. */
  readonly hasDuplicates: boolean
  /** Whether the value may have a member of a special name (special-names.ts). False is certain, true is not. */
  readonly hasSpecialNames: boolean
}

/** `depthMax` limits the nesting. The default is DOCUMENT_DEPTH_MAX. */
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

const NO_PLACE = 0
const SHOWN_PATH_LENGTH_MAX = 200

// A shorter number without an exponent cannot exceed the largest double.
const SAFE_NUMBER_LENGTH_MAX = 300

const KIND_BY_FIRST_BYTE: ReadonlyMap<number, JsonKind> = new Map([
  [OPEN_BRACE, 'object'],
  [OPEN_BRACKET, 'array'],
  [QUOTE, 'string'],
  [0x74, 'true'],
  [0x66, 'false'],
  [0x6e, 'null'],
])

/**
 * Scans one text. Throws INVALID_ARGUMENT at the first illegal byte; names its offset and field.
 */
export class JsonScanner {
  readonly bytes: Buffer
  /** The offset of the next byte. */
  position = 0
  /** The extent of the name that `nextMember` has read last, without its quotes. */
  nameStart = 0
  nameEnd = 0
  nameHasEscapes = false
  /** A hash of the name's characters. Equal names have equal hashes, however they are escaped. */
  nameHash = 0

  readonly #depthMax: number
  readonly #names: MemberNames
  readonly #closers: number[] = []
  /** By depth: the offset of the current member's name. In an array: minus the index, minus one. */
  readonly #places: number[] = []
  #start = 0
  #isInString = false
  #depth = 0
  #depthSeen = 0
  #hasWhitespace = false
  #hasEscapes = false
  #hasSpecialNames = false
  #isFirst = false

  constructor(bytes: Buffer, { depthMax = DOCUMENT_DEPTH_MAX }: ScannerOptions = {}) {
    this.bytes = bytes
    this.#depthMax = depthMax
    this.#names = new MemberNames()
  }

  skipWhitespace(): void {
    this.#nextByte()
  }

  scanValue(): ValueShape {
    this.beginValue()
    this.scanSome(Infinity)
    return this.shape
  }

  /** Scans as `scanValue` does, in steps. */
  *scanValueSliced(): Sliced<ValueShape> {
    this.beginValue()
    while (!this.scanSome(SCAN_STEP_BYTES)) yield
    return this.shape
  }

  beginValue(): void {
    this.skipWhitespace()
    this.#hasWhitespace = false
    this.#depth = 0
    this.#depthSeen = 0
    this.#isInString = false
    this.#hasSpecialNames = false
    this.#names.reset()
    this.#start = this.position
  }

  /** Scans about this many bytes of the value. True means that the value has ended. */
  scanSome(bytes: number): boolean {
    const until = this.position + bytes
    do {
      const hasEnded = this.#isInString
        ? this.#scanStringFrom(this.position, until)
        : this.#scanUntilValueEnds(until)
      if (hasEnded) this.#scanUntilNextValue()
    } while ((this.#depth > 0 || this.#isInString) && this.position < until)
    return this.#depth === 0 && !this.#isInString
  }

  /** The shape of the value that ended last. */
  get shape(): ValueShape {
    return {
      kind: kindAt(this.bytes, this.#start),
      start: this.#start,
      end: this.position,
      depth: this.#depthSeen,
      hasWhitespace: this.#hasWhitespace,
      hasDuplicates: this.#names.hasDuplicates,
      hasSpecialNames: this.#hasSpecialNames,
    }
  }

  /** Enters the object that begins at `position`. */
  enterObject(): void {
    if (this.#nextByte() !== OPEN_BRACE) this.#fail("'{'")
    this.position++
    this.#isFirst = true
    this.#depth = 0
  }

  /** Enters the array that begins at `position`. */
  enterArray(): void {
    if (this.#nextByte() !== OPEN_BRACKET) this.#fail("'['")
    this.position++
    this.#isFirst = true
    this.#depth = 0
  }

  /** Stops before the next element. False means that the array has ended. */
  nextElement(): boolean {
    return this.#nextInside(CLOSE_BRACKET) !== undefined
  }

  /** Reads the next name and stops before its value. False means that the object has ended. */
  nextMember(): boolean {
    const isFirst = this.#nextInside(CLOSE_BRACE)
    if (isFirst === undefined) return false
    this.#scanName(isFirst ? "a member name or '}'" : 'a member name')
    return true
  }

  /** Whether the next entry is the first of its container; undefined if the container has ended. */
  #nextInside(closer: number): boolean | undefined {
    const isFirst = this.#isFirst
    this.#isFirst = false
    const byte = this.#nextByte()
    if (byte === closer) {
      this.position++
      return undefined
    }
    if (isFirst) return true
    if (byte !== COMMA) this.#fail(closer === CLOSE_BRACE ? "',' or '}'" : "',' or ']'")
    this.position++
    this.#nextByte()
    return false
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
    const until = at + WHITESPACE_RUN_MAX
    while ((byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09) && at < until) {
      byte = bytes[++at] ?? 0
    }
    if (at !== this.position) this.#hasWhitespace = true
    this.position = at
    return byte
  }

  /** One step into a value. False: it opened a container, or a string longer than the step. */
  #scanUntilValueEnds(until: number): boolean {
    const byte = this.#nextByte()
    if (byte === QUOTE) return this.#scanString(until)
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

  /** Closes the containers that end here and stops before the next value, if one follows. */
  #scanUntilNextValue(): void {
    while (this.#depth > 0) {
      const closer = this.#closers[this.#depth] ?? 0
      const byte = this.#nextByte()
      if (byte === COMMA) {
        this.position++
        if (closer === CLOSE_BRACE) this.#scanOwnName('a member name')
        else this.#places[this.#depth] = (this.#places[this.#depth] ?? 0) - 1
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
    this.#places[this.#depth] = -1
    if (this.#nextByte() !== CLOSE_BRACKET) return false
    this.position++
    this.#depth--
    return true
  }

  #open(closer: number): void {
    if (this.#depth === this.#depthMax) {
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `JSON at byte ${this.position} is nested deeper than ${this.#depthMax} levels${this.#field()}`,
      )
    }
    this.position++
    this.#depth++
    if (this.#depth > this.#depthSeen) this.#depthSeen = this.#depth
    this.#closers[this.#depth] = closer
    this.#places[this.#depth] = NO_PLACE
  }

  #scanOwnName(expected: string): void {
    this.#places[this.#depth] = NO_PLACE
    this.#scanName(expected)
    this.#places[this.#depth] = this.nameStart
    this.#names.add(this.#depth, this.nameHash)
    if (this.#depth === 1 && isSpecialHash(this.nameHash)) this.#hasSpecialNames = true
  }

  /** Scans a name and its colon. */
  #scanName(expected: string): void {
    if (this.#nextByte() !== QUOTE) this.#fail(expected)
    const { bytes } = this
    const start = this.position + 1
    const until = start + MEMBER_NAME_BYTES_MAX
    let at = start
    let hash = HASH_SEED
    let byte = bytes[at] ?? 0
    while (byte !== QUOTE && byte !== BACKSLASH && byte >= SPACE && at < until) {
      hash = Math.imul(hash ^ byte, HASH_FACTOR)
      byte = bytes[++at] ?? 0
    }
    this.nameStart = start
    if (byte === QUOTE) {
      this.position = at + 1
      this.nameHasEscapes = false
      this.nameHash = hash
    } else {
      if (!this.#scanString(until)) this.#refuseName(start)
      this.nameHasEscapes = this.#hasEscapes
      this.nameHash = hashOfName(readString(bytes, start, this.position - 1, true))
    }
    this.nameEnd = this.position - 1
    if (this.#nextByte() !== COLON) this.#fail("':'")
    this.position++
    this.#nextByte()
  }

  #refuseName(start: number): never {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `the member name at byte ${start} has more than ${MEMBER_NAME_BYTES_MAX} bytes`,
    )
  }

  #scanString(until: number): boolean {
    this.#hasEscapes = false
    return this.#scanStringFrom(this.position + 1, until)
  }

  /** Scans a string as far as `until`. True means that the string has ended. */
  #scanStringFrom(from: number, until: number): boolean {
    const { bytes } = this
    let at = from
    for (;;) {
      let byte = bytes[at] ?? 0
      while (byte !== QUOTE && byte !== BACKSLASH && byte >= SPACE && at < until) {
        byte = bytes[++at] ?? 0
      }
      if (byte === QUOTE) break
      this.position = at
      if (at >= until) return this.#pauseInString()
      if (byte !== BACKSLASH) this.#fail('a closing quote (control characters must be escaped)')
      at = this.#scanEscape(at + 1)
      this.#hasEscapes = true
    }
    this.#isInString = false
    this.position = at + 1
    return true
  }

  #pauseInString(): false {
    this.#isInString = true
    return false
  }

  /** Answers the offset behind the escape sequence whose letter is at `at`. */
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

  /** Answers the offset behind one or more digits. */
  #scanDigits(from: number): number {
    const { bytes } = this
    let at = from
    let byte = bytes[at] ?? 0
    const until = from + DIGITS_MAX
    while (byte >= ZERO && byte <= NINE && at < until) byte = bytes[++at] ?? 0
    if (at === from || at === until) {
      this.position = at
      this.#fail(at === from ? 'a digit' : `at most ${DIGITS_MAX} digits`)
    }
    return at
  }

  #checkMagnitude(start: number, end: number): void {
    if (Number.isFinite(Number(this.bytes.toString('latin1', start, end)))) return
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `number at byte ${start} is beyond the range of a double (1.8e308)${this.#field()}`,
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
      `malformed JSON at byte ${this.position}: expected ${expected}${found}${this.#field()}`,
    )
  }

  /** The path from the scanned value to `position`, for messages. */
  #field(): string {
    let path = ''
    for (const [level, place] of this.#places.slice(1, this.#depth + 1).entries()) {
      if (this.#closers[level + 1] === CLOSE_BRACKET) path += `[${-place - 1}]`
      else if (place !== NO_PLACE) path += `${path === '' ? '' : '.'}${this.#nameAt(place)}`
    }
    if (path.length > SHOWN_PATH_LENGTH_MAX) path = `${path.slice(0, SHOWN_PATH_LENGTH_MAX)}...`
    return path === '' ? '' : `, in field ${JSON.stringify(path)}`
  }

  #nameAt(start: number): string {
    const end = start + SHOWN_PATH_LENGTH_MAX
    let at = start
    while (at < end && this.bytes[at] !== QUOTE) at += this.bytes[at] === BACKSLASH ? 2 : 1
    return this.bytes.toString('utf8', start, Math.min(at, end))
  }
}

/** The kind of a value, by its first byte. A byte that begins no value counts as a number. */
export function kindAt(json: Buffer, start: number): JsonKind {
  return KIND_BY_FIRST_BYTE.get(json[start] ?? 0) ?? 'number'
}

/** The characters of a scanned string. `start` and `end` lie between its quotes. */
export function readString(bytes: Buffer, start: number, end: number, hasEscapes: boolean): string {
  if (!hasEscapes) return bytes.toString('utf8', start, end)
  const text: unknown = JSON.parse(bytes.toString('utf8', start - 1, end + 1))
  return String(text)
}

function isHexDigit(byte: number): boolean {
  const lower = byte | 0x20
  return (byte >= ZERO && byte <= NINE) || (lower >= 0x61 && lower <= 0x66)
}

function isEscapeLetter(byte: number): boolean {
  return '"\\/bfnrt'.includes(String.fromCharCode(byte))
}
