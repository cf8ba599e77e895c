// Reads a request body that carries documents, member by member, straight from its bytes.
// Every refusal names the place in the body.

import { ServiceError } from '../../lib/errors.ts'
import { compactJson } from './compact-json.ts'
import {
  assertDocumentSize,
  assertKeySize,
  at,
  located,
  parseDocumentKey,
  shownKey,
} from './document-limits.ts'
import { describeKind, parseExact } from './exact-json.ts'
import { isJsonArray, isJsonObject } from './json-object.ts'
import { JsonScanner, readString } from './json-scanner.ts'
import type { JsonArray, JsonObject, JsonValue } from './exact-json.ts'
import type { Insert } from './writes.ts'

export class BodyReader {
  readonly #scanner: JsonScanner
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#scanner = new JsonScanner(bytes)
  }

  expectEnd(): void {
    this.#scanner.expectEnd()
  }

  /** An object of known fields, each read by its own reader. `where` is empty at the top. */
  readMembers(where: string, readers: ReadonlyMap<string, () => unknown>): void {
    const seen = new Set<string>()
    this.#enterObject(where)
    while (this.#scanner.nextMember()) {
      const name = this.#name()
      const read = readers.get(name)
      if (read === undefined) {
        const allowed = [...readers.keys()].join(', ')
        return this.refuse(where, `unknown field "${name}"; allowed are ${allowed}`)
      }
      if (seen.has(name)) this.refuse(where, `field "${name}" is given twice`)
      seen.add(name)
      read()
    }
  }

  /** An object whose names are the client's; `read` consumes the value. */
  readEntries(where: string, read: (name: string, place: string) => void): void {
    this.#enterObject(where)
    while (this.#scanner.nextMember()) {
      const name = this.#name()
      read(name, `${where}[${shownKey(name)}]`)
    }
  }

  /** An object from keys to documents. Of several documents for one key the last is taken. */
  readDocuments(where: string): readonly Insert[] {
    const inserts: Insert[] = []
    const hashes = new Set<number>()
    const scanner = this.#scanner
    this.#enterObject(where)
    while (scanner.nextMember()) {
      const { nameStart, nameEnd, nameHasEscapes } = scanner
      hashes.add(scanner.nameHash)
      try {
        inserts.push({ key: this.#key(), json: this.#document() })
      } catch (cause) {
        const name = readString(this.#bytes, nameStart, nameEnd, nameHasEscapes)
        throw located(`${where}[${shownKey(name)}]`, cause)
      }
    }
    return hashes.size === inserts.length ? inserts : lastOfEachKey(inserts)
  }

  readJson(): JsonValue {
    const { start, end } = this.#scanner.scanValue()
    return parseExact(this.#bytes.subarray(start, end))
  }

  readBoolean(where: string): boolean {
    const value = this.readJson()
    return typeof value === 'boolean' ? value : this.refuse(where, 'must be true or false')
  }

  readKeys(where: string): readonly Buffer[] {
    return this.#array(where).map((key, index) => this.keyOf(key, `${where}[${index}]`))
  }

  /** The empty string stands for no key. */
  readOptionalKey(where: string): Buffer | undefined {
    const key = this.readJson()
    return key === '' ? undefined : this.keyOf(key, where)
  }

  /** An array of objects that have no other fields than `allowed`. */
  readObjects<T>(
    where: string,
    allowed: readonly string[],
    parse: (members: JsonObject, place: string) => T,
  ): readonly T[] {
    return this.#array(where).map((entry, index) => {
      const place = `${where}[${index}]`
      if (!isJsonObject(entry)) return this.#refuseKind(place, 'an object', entry)
      const unknown = Object.keys(entry).find((name) => !allowed.includes(name))
      if (unknown === undefined) return parse(entry, place)
      return this.refuse(place, `unknown field "${unknown}"; allowed are ${allowed.join(', ')}`)
    })
  }

  keyOf(value: JsonValue | undefined, where: string): Buffer {
    return typeof value === 'string'
      ? at(where, () => parseDocumentKey(value))
      : this.refuse(where, 'must be a key, a string')
  }

  refuse(where: string, problem: string): never {
    throw new ServiceError('INVALID_ARGUMENT', where === '' ? problem : `${where}: ${problem}`)
  }

  #enterObject(where: string): void {
    if (where === '') this.#scanner.enterObject()
    else at(where, () => this.#scanner.enterObject())
  }

  #array(where: string): JsonArray {
    const value = this.readJson()
    return isJsonArray(value) ? value : this.#refuseKind(where, 'an array', value)
  }

  #refuseKind(where: string, wanted: string, value: JsonValue): never {
    return this.refuse(where, `must be ${wanted}, not ${describeKind(value)}`)
  }

  #name(): string {
    const { nameStart, nameEnd, nameHasEscapes } = this.#scanner
    return readString(this.#bytes, nameStart, nameEnd, nameHasEscapes)
  }

  /** The current name as a key: a slice of the body unless it has escapes. */
  #key(): Buffer {
    const { nameStart, nameEnd, nameHasEscapes } = this.#scanner
    if (nameHasEscapes) return parseDocumentKey(this.#name())
    const key = this.#bytes.subarray(nameStart, nameEnd)
    assertKeySize(key.length)
    return key
  }

  #document(): Buffer {
    const shape = this.#scanner.scanValue()
    if (shape.kind !== 'object') {
      throw new ServiceError('INVALID_ARGUMENT', `must be an object, not ${shape.kind}`)
    }
    const json = compactJson(this.#bytes, shape)
    assertDocumentSize(json.length)
    return json
  }
}

/** Equal hashes were seen, so the keys themselves decide. A key keeps the place of its first. */
function lastOfEachKey(inserts: readonly Insert[]): readonly Insert[] {
  return [...new Map(inserts.map((insert) => [insert.key.toString('latin1'), insert])).values()]
}
