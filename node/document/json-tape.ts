// The places of all values of a JSON text, in the order of the text. A caller can walk over the
// tape many times without another scan, and no object is built.
//
//   {"a":[1,2]}   entry 0 the object, 1 the name "a", 2 the array, 3 and 4 its elements
//
// Invariants:
//   T1  The children of a container follow it; a child is followed by its own children.
//   T2  In an object, children come in pairs: a name and its value.
//   T3  `next(entry)` is the entry behind the value and everything inside it.

import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import { kindAt, readString, type JsonKind } from './json-scanner.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

const STEP_BYTES = 64 * 1024
/** What a value costs beside its bytes. The unit is bytes. */
const ENTRY_COST_BYTES = 16
/** These entries lie in a plain array, which is cheaper to create for the many small documents. */
const FIRST_ENTRIES = 256
const PAGE_ENTRIES = 4096
const FIELDS = 3
const START = 0
const END = 1
const NEXT = 2

/**
 * The tape of one document. An entry is a number from 0; the caller knows by T1 to T3 which entries
 * exist.
 */
export class JsonTape {
  readonly bytes: Buffer
  readonly #first: number[] = []
  readonly #pages: Int32Array[] = []
  #length = 0

  private constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** Builds the tape of `json`, which is compact JSON that the scanner has accepted. */
  static *of(json: Buffer): Sliced<JsonTape> {
    const tape = new JsonTape(json)
    const open: number[] = []
    const meter = new StepMeter(STEP_BYTES)
    let at = 0
    while (at < json.length) {
      const byte = json[at]
      const start = at
      if (byte === COMMA || byte === COLON) {
        at++
        continue
      }
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        open.push(tape.#add(at))
        at++
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        at++
        const entry = open.pop() ?? 0
        tape.#set(entry, END, at)
        tape.#set(entry, NEXT, tape.#length)
      } else {
        at = byte === QUOTE ? yield* endOfString(json, at) : endOfScalar(json, at)
        tape.#addLeaf(start, at)
      }
      if (meter.spend(at - start + ENTRY_COST_BYTES)) yield
    }
    return tape
  }

  kind(entry: number): JsonKind {
    return kindAt(this.bytes, this.#get(entry, START))
  }

  /** The entry behind the value and everything inside it. */
  next(entry: number): number {
    return this.#get(entry, NEXT)
  }

  text(entry: number): Buffer {
    return this.bytes.subarray(this.#get(entry, START), this.#get(entry, END))
  }

  textBytes(entry: number): number {
    return this.#get(entry, END) - this.#get(entry, START)
  }

  /** The characters of a name or a string. */
  string(entry: number): string {
    const [start, end] = [this.#get(entry, START) + 1, this.#get(entry, END) - 1]
    return readString(this.bytes, start, end, this.bytes.subarray(start, end).includes(BACKSLASH))
  }

  number(entry: number): number {
    return Number(this.bytes.toString('latin1', this.#get(entry, START), this.#get(entry, END)))
  }

  #addLeaf(start: number, end: number): void {
    const entry = this.#add(start)
    this.#set(entry, END, end)
    this.#set(entry, NEXT, this.#length)
  }

  #add(start: number): number {
    const entry = this.#length++
    if (entry < FIRST_ENTRIES) this.#first.push(start, 0, 0)
    else this.#set(entry, START, start)
    return entry
  }

  #get(entry: number, field: number): number {
    if (entry < FIRST_ENTRIES) return this.#first[entry * FIELDS + field] ?? 0
    const page = this.#pages[Math.floor(entry / PAGE_ENTRIES)]
    return page?.[(entry % PAGE_ENTRIES) * FIELDS + field] ?? 0
  }

  #set(entry: number, field: number, value: number): void {
    if (entry < FIRST_ENTRIES) {
      this.#first[entry * FIELDS + field] = value
      return
    }
    const number = Math.floor(entry / PAGE_ENTRIES)
    const page = this.#pages[number] ?? new Int32Array(PAGE_ENTRIES * FIELDS)
    this.#pages[number] = page
    page[(entry % PAGE_ENTRIES) * FIELDS + field] = value
  }
}

/** The offset behind the closing quote. */
function* endOfString(json: Buffer, start: number): Sliced<number> {
  const meter = new StepMeter(STEP_BYTES)
  let from = start + 1
  for (;;) {
    const quote = json.indexOf(QUOTE, from)
    let escapes = quote
    while (json[escapes - 1] === BACKSLASH && escapes > from) escapes--
    if ((quote - escapes) % 2 === 0) return quote + 1
    from = quote + 1
    if (meter.spend(ENTRY_COST_BYTES + (quote - escapes))) yield
  }
}

function endOfScalar(json: Buffer, start: number): number {
  let at = start
  for (;;) {
    const byte = json[at]
    const hasEnded =
      byte === undefined || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET
    if (hasEnded) return at
    at++
  }
}
