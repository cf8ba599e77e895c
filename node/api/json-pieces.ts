// JSON text in pieces: large values are written in steps, and bytes that are JSON already pass as
// they are.
//
// The writer pushes, and pauses once for many values: answers are mostly stored documents and tens of thousands of
// small values. inference/api/json-pieces.ts is pulled from instead, piece by piece, as its client reads: it writes
// vectors and lists that are made only then, which must not be in memory before.

import { StepMeter, type Sliced } from '../../lib/sliced.ts'

/** Shorter texts are gathered into one piece. */
const PIECE_LENGTH = 64 * 1024
/** Bytes from here on are a piece of their own, not copied. */
const OWN_PIECE_BYTES_MIN = 8 * 1024
/** A step writes 64 Ki characters; a value costs as much as 32 of them. */
const STEP_LENGTH = 64 * 1024
const VALUE_COST = 32

/** Gathers the pieces of one JSON text. */
export class JsonPieces {
  #text = ''
  #pieces: Buffer[] = []
  #bytes = 0

  /** The bytes of the complete pieces. */
  get bytes(): number {
    return this.#bytes
  }

  text(text: string): void {
    this.#text += text
    if (this.#text.length >= PIECE_LENGTH) this.#cut()
  }

  /** JSON text in UTF-8. */
  json(json: Buffer): void {
    if (json.length < OWN_PIECE_BYTES_MIN) return this.text(json.toString())
    this.#cut()
    this.#push(json)
  }

  /** What has been written since the last call, complete or not. */
  take(): readonly Buffer[] {
    this.#cut()
    const pieces = this.#pieces
    this.#pieces = []
    this.#bytes = 0
    return pieces
  }

  #cut(): void {
    if (this.#text === '') return
    this.#push(Buffer.from(this.#text))
    this.#text = ''
  }

  #push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#bytes += piece.length
  }
}

/** As JSON.stringify writes it, for values of plain objects, arrays and scalars. */
export function* writeJson(value: unknown, pieces: JsonPieces): Sliced<void> {
  yield* new JsonWriter(pieces).write(value)
}

class JsonWriter {
  readonly #pieces: JsonPieces
  readonly #meter = new StepMeter(STEP_LENGTH)

  constructor(pieces: JsonPieces) {
    this.#pieces = pieces
  }

  *write(value: unknown): Sliced<void> {
    if (Array.isArray(value)) yield* this.#array(value)
    else if (isPlainObject(value)) yield* this.#object(value)
    else {
      const text = JSON.stringify(value) ?? 'null'
      this.#pieces.text(text)
      if (this.#meter.spend(text.length + VALUE_COST)) yield
    }
  }

  *#array(values: readonly unknown[]): Sliced<void> {
    let separator = '['
    for (const value of values) {
      this.#pieces.text(separator)
      yield* this.write(value)
      separator = ','
    }
    this.#pieces.text(separator === '[' ? '[]' : ']')
  }

  *#object(value: object): Sliced<void> {
    let separator = '{'
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue
      this.#pieces.text(`${separator}${JSON.stringify(name)}:`)
      yield* this.write(member)
      separator = ','
    }
    this.#pieces.text(separator === '{' ? '{}' : '}')
  }
}

/** A number of many digits is an object too, which JSON.stringify alone can write. */
function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !JSON.isRawJSON(value)
}
