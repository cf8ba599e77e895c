// Reads the fields of the JSON files in a model directory. The files are not trusted: a field that is
// present must have the expected type and range, or the directory is refused with the field's name.

import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'

/**
 * The fields of one JSON object. A getter returns undefined (or an empty list) for an absent field
 * and throws INVALID_ARGUMENT for a field of another type.
 */
export class ConfigFields {
  readonly #file: string
  readonly #fields: JsonRecord

  /** `content` is the parsed file; undefined where the directory has none. */
  constructor(file: string, content: unknown) {
    if (content !== undefined && !isJsonRecord(content)) {
      throw invalid(file, 'it must hold an object')
    }
    this.#file = file
    this.#fields = content ?? {}
  }

  has(name: string): boolean {
    return this.#value(name) !== undefined
  }

  /** An integer from 1 to `max`. */
  count(name: string, max: number): number | undefined {
    const value = this.#value(name)
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) {
      return value
    }
    throw invalid(this.#file, `${name} must be an integer from 1 to ${max}`)
  }

  requiredCount(name: string, max: number): number {
    const value = this.count(name, max)
    if (value === undefined) throw invalid(this.#file, `${name} is missing`)
    return value
  }

  number(name: string): number | undefined {
    const value = this.#value(name)
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isFinite(value)) return value
    throw invalid(this.#file, `${name} must be a number`)
  }

  /** A number from `min` to `max`, inclusive. */
  numberWithin(name: string, [min, max]: readonly [number, number]): number | undefined {
    const value = this.number(name)
    if (value === undefined || (value >= min && value <= max)) return value
    throw invalid(this.#file, `${name} must be a number from ${min} to ${max}`)
  }

  text(name: string): string | undefined {
    const value = this.#value(name)
    if (value === undefined || typeof value === 'string') return value
    throw invalid(this.#file, `${name} must be a string`)
  }

  flag(name: string): boolean | undefined {
    const value = this.#value(name)
    if (value === undefined || typeof value === 'boolean') return value
    throw invalid(this.#file, `${name} must be true or false`)
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.#value(name)
    if (value === undefined) return undefined
    const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (texts.every((text) => typeof text === 'string')) return texts
    throw invalid(this.#file, `${name} must be a list of strings`)
  }

  /** A token id or a list of them; empty if absent. */
  ids(name: string): readonly number[] {
    const value = this.#value(name)
    if (value === undefined) return []
    const ids: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (ids.every((id) => typeof id === 'number' && Number.isInteger(id) && id >= 0)) {
      return ids.filter((id) => typeof id === 'number')
    }
    throw invalid(this.#file, `${name} must be a token id or a list of token ids`)
  }

  /** The fields of a nested object; no fields if it is absent. */
  object(name: string): ConfigFields {
    return new ConfigFields(`${this.#file}: ${name}`, this.#value(name))
  }

  /** An object whose values are all texts. */
  textByName(name: string): Readonly<Record<string, string>> {
    const value = this.#value(name)
    if (value === undefined) return {}
    if (!isJsonRecord(value)) throw invalid(this.#file, `${name} must be an object`)
    const entries = Object.entries(value)
    const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    if (texts.length === entries.length) return Object.fromEntries(texts)
    throw invalid(this.#file, `every value in ${name} must be a string`)
  }

  /** `id2label`, `{"0": "O", …}`, as a list; undefined if absent. */
  labels(name: string): readonly string[] | undefined {
    const value = this.#value(name)
    if (value === undefined) return undefined
    if (Array.isArray(value)) return this.texts(name)
    const byId = this.textByName(name)
    const labels = Object.keys(byId).map((_, id) => byId[String(id)])
    const known = labels.filter((label) => label !== undefined)
    if (known.length === labels.length && labels.length > 0) return known
    throw invalid(this.#file, `${name} must have a label for each id from 0 on`)
  }

  /** The text of a special token, given as a text or as an object with `content`. */
  tokenText(name: string): string | undefined {
    const value = this.#value(name)
    return isJsonRecord(value) ? this.object(name).text('content') : this.text(name)
  }

  /** Chat templates: one text, or a list of named ones. */
  templates(name: string): readonly { readonly name: string; readonly text: string }[] {
    const value = this.#value(name)
    if (value === undefined) return []
    if (typeof value === 'string') return [{ name: 'default', text: value }]
    const entries: readonly unknown[] = Array.isArray(value) ? value : []
    return entries.map((entry) => {
      const fields = new ConfigFields(`${this.#file}: ${name}`, entry)
      return { name: fields.text('name') ?? '', text: fields.text('template') ?? '' }
    })
  }

  /** `null` in a configuration means absent. */
  #value(name: string): unknown {
    return Object.hasOwn(this.#fields, name) ? (this.#fields[name] ?? undefined) : undefined
  }
}

function invalid(file: string, problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `${file}: ${problem}`)
}
