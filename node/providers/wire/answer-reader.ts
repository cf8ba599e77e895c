// Reads answers of providers. Whatever is not as expected is the provider's fault, and is named.

import { unavailable } from '../contract/provider-error.ts'

/** One value of an answer, and where it was found. */
export class AnswerValue {
  readonly value: unknown
  readonly #name: string
  readonly #path: string

  /** `name` is the provider's, for messages. */
  constructor(value: unknown, name: string, path = 'the answer') {
    this.value = value
    this.#name = name
    this.#path = path
  }

  /** The member of an object; undefined if it has none, or is not an object. */
  member(name: string): AnswerValue {
    const { value } = this
    const isObject = typeof value === 'object' && value !== null
    const found: unknown =
      isObject && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined
    return new AnswerValue(found, this.#name, `${this.#path}.${name}`)
  }

  get isAbsent(): boolean {
    return this.value === undefined || this.value === null
  }

  list(): readonly AnswerValue[] {
    if (!Array.isArray(this.value)) throw this.#odd('a list')
    const values: readonly unknown[] = this.value
    return values.map((each, at) => new AnswerValue(each, this.#name, `${this.#path}[${at}]`))
  }

  /** The members `text` of a list's objects, joined; undefined if there are none. */
  joinedTexts(): string | undefined {
    if (!Array.isArray(this.value)) return undefined
    const texts = this.list().map((each) => each.member('text').value)
    const found = texts.filter((text) => typeof text === 'string')
    return found.length === 0 ? undefined : found.join('')
  }

  text(): string {
    if (typeof this.value !== 'string') throw this.#odd('a text')
    return this.value
  }

  number(): number {
    if (typeof this.value !== 'number') throw this.#odd('a number')
    return this.value
  }

  /** An integer from 0 on, below `end`. */
  position(end: number): number {
    const value = this.number()
    if (Number.isInteger(value) && value >= 0 && value < end) return value
    throw this.#odd(`an integer from 0 to ${end - 1}`)
  }

  /** Decimals, or 32-bit floats in base64. */
  vector(): Float32Array {
    if (typeof this.value === 'string') return this.#packed(this.value)
    if (!Array.isArray(this.value)) throw this.#odd('a list of numbers')
    const values: readonly unknown[] = this.value
    // Anything but a number becomes NaN, which the embedder refuses.
    return Float32Array.from(values, (each) => (typeof each === 'number' ? each : Number.NaN))
  }

  #packed(text: string): Float32Array {
    const bytes = Buffer.from(text, 'base64')
    if (bytes.length % 4 !== 0) throw this.#odd('floats of 32 bits in base64')
    return floatsOf(bytes)
  }

  #odd(expected: string): Error {
    return unavailable(`${this.#name}: ${this.#path} is not ${expected}`)
  }
}

const FLOAT_BYTES = 4

const IS_LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

/** Little-endian floats as numbers, copied, because they may lie anywhere in their buffer. */
export function floatsOf(bytes: Buffer): Float32Array {
  const vector = new Float32Array(bytes.length / FLOAT_BYTES)
  const copy = Buffer.from(vector.buffer)
  bytes.copy(copy)
  if (!IS_LITTLE_ENDIAN) copy.swap32()
  return vector
}
