import { ServiceError } from '../../../lib/errors.ts'
import { hasReferences, parseReferences } from './references.ts'

const TEXT_CHARS_MAX = 4_096

/** The limits of a number. */
export interface NumberRule {
  readonly min: number
  readonly max: number
}

/**
 * Reads the members of one object of a configuration. Every method throws INVALID_ARGUMENT with the path of
 * the member for a value of another form. `finish` refuses members that nobody has read.
 */
export class FieldReader {
  readonly where: string
  readonly #members: ReadonlyMap<string, unknown>
  readonly #read = new Set<string>()

  /** `where` is the path of the object, such as `indexes.notes.embedder`. */
  constructor(value: unknown, where: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ServiceError('INVALID_ARGUMENT', `${where} must be an object with a provider`)
    }
    this.where = where
    this.#members = new Map(Object.entries(value))
  }

  /** A text, which may be absent but not empty. It may hold no reference. */
  text(name: string): string | undefined {
    const text = this.reference(name)
    if (text === undefined || !hasReferences(parseReferences(text, this.at(name)))) return text
    throw this.#refuse(
      name,
      'may not hold a reference ${…}; only api_key, url, project_id, location and region may',
    )
  }

  /** A text that may hold references, as it was written. */
  reference(name: string): string | undefined {
    const value = this.#take(name)
    if (value === undefined) return undefined
    if (typeof value !== 'string' || value === '') {
      throw this.#refuse(name, 'must be a text, not empty')
    }
    if (value.length > TEXT_CHARS_MAX) {
      throw this.#refuse(name, `may have ${TEXT_CHARS_MAX} characters`)
    }
    parseReferences(value, this.at(name))
    return value
  }

  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.#take(name)
    if (value === undefined) return undefined
    const found = choices.find((choice) => choice === value)
    if (found === undefined) throw this.#refuse(name, `must be one of ${choices.join(', ')}`)
    return found
  }

  integer(name: string, { min, max }: NumberRule): number | undefined {
    const value = this.#take(name)
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
      return value
    }
    throw this.#refuse(name, `must be an integer from ${min} to ${max}`)
  }

  number(name: string, { min, max }: NumberRule): number | undefined {
    const value = this.#take(name)
    if (value === undefined) return undefined
    if (typeof value === 'number' && value >= min && value <= max) return value
    throw this.#refuse(name, `must be a number from ${min} to ${max}`)
  }

  flag(name: string): boolean | undefined {
    const value = this.#take(name)
    if (value === undefined || typeof value === 'boolean') return value
    throw this.#refuse(name, 'must be true or false')
  }

  /** A reader of the object in a member; of an empty one if the member is absent. */
  object(name: string): FieldReader {
    return new FieldReader(this.#take(name) ?? {}, this.at(name))
  }

  /** Throws for members that were not asked for. `known` ends the message: what there is instead. */
  finish(subject: string): void {
    const unknown = [...this.#members.keys()].find((name) => !this.#read.has(name))
    if (unknown === undefined) return
    const names = [...this.#read].toSorted().join(', ')
    throw this.#refuse(shown(unknown), `is unknown; ${subject} has ${names}`)
  }

  /** The path of a member. */
  at(name: string): string {
    return `${this.where}.${name}`
  }

  #take(name: string): unknown {
    this.#read.add(name)
    return this.#members.get(name)
  }

  #refuse(name: string, why: string): ServiceError {
    return new ServiceError('INVALID_ARGUMENT', `${this.at(name)} ${why}`)
  }
}

const SHOWN_CHARS_MAX = 100

function shown(name: string): string {
  return name.slice(0, SHOWN_CHARS_MAX).toWellFormed()
}
