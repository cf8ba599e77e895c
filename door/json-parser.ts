// Reads JSON (RFC 8259) in steps. JSON.parse takes a tenth of a second for a body of the largest size,
// and smaller requests would wait for it.
//
// Invariants:
//   JP1  Answers what JSON.parse answers, and refuses what it refuses. A short body is given to it.
//   JP2  Between two yields there is about a millisecond of work, whatever the body.
//   JP3  Values are counted before they are made: one takes two bytes of a body and fifty of memory.

import { ServiceError, messageOf } from '../lib/errors.ts'
import { StepMeter } from '../lib/sliced.ts'
import type { Sliced } from '../lib/sliced.ts'
import { findString, readString } from './json-string.ts'

/** A chat of 2048 messages with their parts and calls has a tenth of it. */
export const VALUES_MAX = 256 * 1024
/** Members of one object. The engine reorders all of them in one step whenever their number doubles. */
const MEMBERS_MAX = 16 * 1024
/** JSON.parse reads 16 KiB within a millisecond, whatever they are. */
const AT_ONCE_BYTES_MAX = 16 * 1024
/** Bytes that are walked in about a millisecond; a value costs as much as VALUE_UNITS of them. */
const UNITS_PER_STEP = 64 * 1024
const VALUE_UNITS = 128

type Container =
  | { readonly kind: 'list'; readonly items: unknown[] }
  | {
      readonly kind: 'object'
      readonly members: Record<string, unknown>
      key: string | undefined
      count: number
    }

/** A body with more values is refused; one of more bytes is read in steps. */
export interface JsonLimits {
  readonly valuesMax: number
  readonly atOnceBytesMax: number
}

const LIMITS: JsonLimits = { valuesMax: VALUES_MAX, atOnceBytesMax: AT_ONCE_BYTES_MAX }

/** Refuses malformed JSON and too many values with INVALID_ARGUMENT. `json` is UTF-8. */
export function* parseJsonInSteps(json: Buffer, limits: JsonLimits = LIMITS): Sliced<unknown> {
  if (json.length <= Math.min(limits.atOnceBytesMax, limits.valuesMax)) return parseAtOnce(json)
  return yield* new JsonReader(json, limits).read()
}

function parseAtOnce(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString())
  } catch (cause) {
    throw noJson(messageOf(cause), cause)
  }
}

const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const LIST_START = 0x5b
const LIST_END = 0x5d
const OBJECT_START = 0x7b
const OBJECT_END = 0x7d
/** Ends of numbers and of true, false and null. */
const ENDS: ReadonlySet<number> = new Set([...SPACES, COMMA, LIST_END, OBJECT_END])
/** More digits do not change a double, but a client may send any number of them. */
const SCALAR_BYTES_MAX = 64 * 1024

class JsonReader {
  readonly #json: Buffer
  readonly #limits: JsonLimits
  readonly #meter = new StepMeter(UNITS_PER_STEP)
  readonly #open: Container[] = []
  #at = 0
  #values = 0

  constructor(json: Buffer, limits: JsonLimits) {
    this.#json = json
    this.#limits = limits
  }

  *read(): Sliced<unknown> {
    for (;;) {
      const begun = yield* this.#value()
      if (begun === OPENED) continue
      let value = begun
      for (;;) {
        const container = this.#open.at(-1)
        yield* this.#skipSpace()
        if (container === undefined) return this.#whole(value)
        put(container, value)
        if (!(yield* this.#closes(container))) break
        this.#open.pop()
        value = container.kind === 'list' ? container.items : container.members
      }
    }
  }

  #whole(value: unknown): unknown {
    if (this.#at === this.#json.length) return value
    throw this.#unexpected()
  }

  /** A value that is whole; or, of a list or an object that is not empty, only the beginning. */
  *#value(): Sliced<unknown> {
    this.#values += 1
    if (this.#values > this.#limits.valuesMax) throw tooManyValues(this.#limits.valuesMax)
    if (this.#meter.spend(VALUE_UNITS)) yield undefined
    yield* this.#skipSpace()
    const byte = this.#json[this.#at]
    if (byte === QUOTE) return yield* this.#string()
    if (byte !== LIST_START && byte !== OBJECT_START) return this.#scalar()
    this.#at += 1
    if (byte === LIST_START) {
      return (yield* this.#takes(LIST_END)) ? [] : this.#begin({ kind: 'list', items: [] })
    }
    if (yield* this.#takes(OBJECT_END)) return {}
    return this.#begin({ kind: 'object', members: {}, key: yield* this.#key(), count: 0 })
  }

  #begin(container: Container): typeof OPENED {
    this.#open.push(container)
    return OPENED
  }

  /** Behind a value: whether its list or object ends there; else another value follows. */
  *#closes(container: Container): Sliced<boolean> {
    const end = container.kind === 'list' ? LIST_END : OBJECT_END
    if (yield* this.#takes(end)) return true
    if (!(yield* this.#takes(COMMA))) throw this.#unexpected()
    if (container.kind === 'object') container.key = yield* this.#key()
    return false
  }

  *#key(): Sliced<string> {
    yield* this.#skipSpace()
    if (this.#json[this.#at] !== QUOTE) throw this.#unexpected()
    const key = yield* this.#string()
    if (!(yield* this.#takes(COLON))) throw this.#unexpected()
    return key
  }

  *#string(): Sliced<string> {
    const place = yield* findString(this.#json, this.#at + 1, this.#meter)
    if (place === undefined) throw noJson('a string does not end')
    this.#at = place.end + 1
    try {
      return yield* readString(this.#json, place, this.#meter)
    } catch (cause) {
      throw noJson(messageOf(cause), cause)
    }
  }

  #scalar(): unknown {
    const start = this.#at
    let end = start
    while (end < this.#json.length && !ENDS.has(this.#json[end] ?? 0)) {
      end += 1
      if (end - start > SCALAR_BYTES_MAX) throw noJson(`a number at ${start} is too long`)
    }
    if (end === start) throw this.#unexpected()
    this.#at = end
    return parseAtOnce(this.#json.subarray(start, end))
  }

  /** Whether this byte comes next, behind white space; then it is passed over. */
  *#takes(byte: number): Sliced<boolean> {
    yield* this.#skipSpace()
    if (this.#json[this.#at] !== byte) return false
    this.#at += 1
    return true
  }

  *#skipSpace(): Sliced<void> {
    while (SPACES.has(this.#json[this.#at] ?? 0)) {
      this.#at += 1
      if (this.#meter.spend(1)) yield undefined
    }
  }

  #unexpected(): ServiceError {
    const byte = this.#json[this.#at]
    if (byte === undefined) return noJson('it ends too early')
    return noJson(`unexpected ${JSON.stringify(String.fromCharCode(byte))} at byte ${this.#at}`)
  }
}

/** Stands for a list or an object whose members follow; no value of JSON is a symbol. */
const OPENED = Symbol('opened')

function put(container: Container, value: unknown): void {
  if (container.kind === 'list') container.items.push(value)
  else if (container.count++ >= MEMBERS_MAX) throw tooManyMembers()
  else if (container.key === '__proto__') {
    // A member like any other, as JSON.parse has it, and not what the object inherits from.
    const own = { value, enumerable: true, writable: true, configurable: true }
    Object.defineProperty(container.members, '__proto__', own)
  } else container.members[container.key ?? ''] = value
}

function tooManyMembers(): ServiceError {
  const message = `an object in the body has more than ${MEMBERS_MAX} members; send lists`
  return new ServiceError('INVALID_ARGUMENT', message)
}

function tooManyValues(valuesMax: number): ServiceError {
  const message = `the body has more than ${valuesMax} values; send it in parts`
  return new ServiceError('INVALID_ARGUMENT', message)
}

function noJson(problem: string, cause?: unknown): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `the body is not JSON: ${problem}`, { cause })
}
