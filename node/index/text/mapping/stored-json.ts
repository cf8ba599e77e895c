// A stored document as values, in steps: JSON.parse would hold the thread for seconds over ten
// megabytes of numbers.
//
// The bytes are walked once for where values begin and end. Members that follow each other are parsed
// together as soon as they are many bytes; an object or array that is small as a whole is parsed with
// its neighbours. So every call of JSON.parse gets some 8 KiB, or one long string.

import { must } from '../../../../lib/assert.ts'
import { StepMeter, type Sliced } from '../../../../lib/sliced.ts'
import { parseExact, type JsonValue } from '../../../document/exact-json.ts'
import { isJsonArray, isJsonObject } from '../../../document/json-object.ts'

/** A document of up to 32 KiB is parsed at once, without a walk. */
const SMALL_BYTES = 32 * 1024
const RUN_BYTES = 8 * 1024
/** About a millisecond of work. */
const BYTES_PER_STEP = 64 * 1024
/** Shorter numbers fit a double; see exact-json.ts. */
const EXACT_LENGTH = 16

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** `json` is what a table stores: one valid value without white space. */
export function* parseStoredInSteps(json: Buffer): Sliced<JsonValue> {
  if (json.length <= SMALL_BYTES) return parseExact(json)
  const first = json[0]
  const isContainer = first === OPEN_BRACE || first === OPEN_BRACKET
  return isContainer ? yield* new StoredJson(json).parse() : parseExact(json)
}

type Target = JsonValue[] | Record<string, JsonValue>

/** An object or array that the walk is in. */
interface Frame {
  readonly isObject: boolean
  /** Undefined as long as it may be small enough to be parsed with its neighbours. */
  target: Target | undefined
  /** The start of the text that is not parsed yet. */
  runAt: number
  /** Where the member under way begins: in an object, with its name. */
  memberAt: number
  /** Where the value of the member under way begins. */
  valueAt: number
}

class StoredJson {
  readonly #bytes: Buffer
  readonly #frames: Frame[] = []
  readonly #meter = new StepMeter(BYTES_PER_STEP)
  #at = 0
  /** Whether a number may be one that a double cannot carry. */
  #hasLongNumber = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  *parse(): Sliced<JsonValue> {
    for (;;) {
      const before = this.#at
      const byte = this.#bytes[before]
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        this.#open(byte === OPEN_BRACE)
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        const value = this.#close()
        if (this.#frames.length === 0) return value ?? this.#parsed(this.#bytes.toString('utf8'))
      } else if (byte === COMMA) {
        this.#endMember()
      } else if (byte === COLON) {
        this.#at += 1
        this.#top().valueAt = this.#at
      } else if (byte === QUOTE) {
        this.#skipString()
      } else {
        this.#skipPlain()
      }
      if (this.#meter.spend(this.#at - before)) yield
    }
  }

  #top(): Frame {
    return must(this.#frames.at(-1), 'an open object or array')
  }

  #open(isObject: boolean): void {
    this.#at += 1
    const at = this.#at
    this.#frames.push({ isObject, target: undefined, runAt: at, memberAt: at, valueAt: at })
  }

  /** Answers the value if it was too large to be left to its parent. */
  #close(): JsonValue | undefined {
    const frame = must(this.#frames.pop(), 'an open object or array')
    const end = this.#at
    this.#at += 1
    if (frame.target === undefined) return undefined
    this.#flush(frame, end)
    const value = frame.target
    const parent = this.#frames.at(-1)
    if (parent !== undefined) {
      addTo(must(parent.target, 'a parent'), this.#nameOf(parent), value)
      // The comma, if there is one, is passed over with the member.
      parent.runAt = this.#at + 1
      parent.memberAt = this.#at + 1
    }
    return value
  }

  #endMember(): void {
    const frame = this.#top()
    const end = this.#at
    this.#at += 1
    if (end - frame.runAt >= RUN_BYTES) {
      this.#materialize()
      this.#flush(frame, end)
      frame.runAt = this.#at
    }
    frame.memberAt = this.#at
    frame.valueAt = this.#at
  }

  /** The containers that the walk is in get values of their own: they hold too much. */
  #materialize(): void {
    for (const [i, frame] of this.#frames.entries()) {
      frame.target ??= frame.isObject ? {} : []
      const isInside = i < this.#frames.length - 1
      if (isInside && frame.memberAt > frame.runAt) {
        this.#flush(frame, frame.memberAt - 1)
        frame.runAt = frame.memberAt
      }
    }
  }

  /** Parses the members up to `end`, where there is a comma or the container's end. */
  #flush({ isObject, target, runAt }: Frame, end: number): void {
    if (end <= runAt) return
    const text = this.#bytes.toString('utf8', runAt, end)
    const run = this.#parsed(isObject ? `{${text}}` : `[${text}]`)
    const into = must(target, 'a value of its own')
    if (isJsonArray(run)) for (const value of run) addTo(into, '', value)
    if (isJsonObject(run)) for (const [name, value] of Object.entries(run)) addTo(into, name, value)
  }

  #parsed(text: string): JsonValue {
    if (this.#hasLongNumber) return parseExact(text)
    const value: JsonValue = JSON.parse(text)
    return value
  }

  /** The name of the member that is being parsed. */
  #nameOf({ isObject, memberAt, valueAt }: Frame): string {
    return isObject ? String(JSON.parse(this.#bytes.toString('utf8', memberAt, valueAt - 1))) : ''
  }

  /** A number or a word, up to the comma or bracket behind it. */
  #skipPlain(): void {
    const start = this.#at
    let byte = this.#bytes[start] ?? COMMA
    while (byte !== COMMA && byte !== CLOSE_BRACE && byte !== CLOSE_BRACKET) {
      this.#at += 1
      byte = this.#bytes[this.#at] ?? COMMA
    }
    this.#hasLongNumber ||= this.#at - start >= EXACT_LENGTH
  }

  #skipString(): void {
    let end = this.#bytes.indexOf(QUOTE, this.#at + 1)
    while (end >= 0 && this.#isEscaped(end)) end = this.#bytes.indexOf(QUOTE, end + 1)
    this.#at = end < 0 ? this.#bytes.length : end + 1
  }

  #isEscaped(quote: number): boolean {
    let slashes = 0
    while (this.#bytes[quote - 1 - slashes] === BACKSLASH) slashes += 1
    return slashes % 2 === 1
  }
}

function addTo(target: Target, name: string, value: JsonValue): void {
  if (Array.isArray(target)) {
    target.push(value)
  } else if (name === '__proto__') {
    // An own member, as JSON.parse makes it.
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true })
  } else {
    target[name] = value
  }
}
