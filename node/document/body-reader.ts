// Reads a request body that carries documents, member by member and in steps, straight from its
// bytes. Each refusal names the place in the body.

import { ServiceError } from '../../lib/errors.ts'
import { compactJson, isCompact } from './compact-json.ts'
import {
  assertDocumentSize,
  assertKeySize,
  at,
  located,
  parseDocumentKey,
  shownKey,
} from './document-limits.ts'
import { describeKind, parseExact } from './exact-json.ts'
import { HashSet } from './hash-set.ts'
import { isJsonObject } from './json-object.ts'
import { JsonScanner, kindAt, readString, SCAN_STEP_BYTES } from './json-scanner.ts'
import { hashOfBytes } from './name-hash.ts'
import { readTransforms } from './transform-reader.ts'
import { splitDocument } from './split-document.ts'
import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import type { JsonObject, JsonValue } from './exact-json.ts'
import type { ValueShape } from './json-scanner.ts'
import type { TransformRequest } from './transform-request.ts'
import type { Insert } from './writes.ts'

/** How much one request body may hold. */
export interface BodyLimits {
  /** Documents, keys and operations of transforms in one body together. Default: no limit. */
  readonly operationsMax?: number
  /** Called with what is made of the body, before it is made; it may throw. */
  readonly charge?: (bytes: number) => void
}

/** What a document, key or operation takes in memory beside its bytes, until it is written. */
const OPERATION_BYTES = 512
/** What one document, key or operation costs beside its bytes. The unit is bytes. */
const ENTRY_COST_BYTES = 256
const KEYS_PER_STEP = 2000
/** A member that is neither a document nor a list may not be longer. */
const SMALL_VALUE_BYTES_MAX = 64 * 1024

const DOCUMENTS = 'an object of documents by their keys, like {"book/1": {"title": "Sea charts"}}'
/** The bytes that may begin a number. `kindAt` answers "number" for a byte that begins no value. */
const NUMBER_BEGINS: ReadonlySet<number> = new Set(Buffer.from('-0123456789'))

/**
 * Reads one body, once, from its beginning to its end. Every method throws INVALID_ARGUMENT for a
 * body that is malformed or over a limit. `where` is the place of a value, for messages.
 */
export class BodyReader {
  readonly #scanner: JsonScanner
  readonly #bytes: Buffer
  readonly #limits: BodyLimits
  readonly #meter = new StepMeter(SCAN_STEP_BYTES)
  #operations = 0

  constructor(bytes: Buffer, limits: BodyLimits = {}) {
    this.#bytes = bytes
    this.#scanner = new JsonScanner(bytes)
    this.#limits = limits
  }

  expectEnd(): void {
    this.#scanner.expectEnd()
  }

  /**
   * Enters an object with known fields. The caller consumes their values one by one. `where` is
   * empty for the body itself.
   */
  fields<Name extends string>(where: string, known: readonly Name[]): BodyFields<Name> {
    this.#enterObject(where)
    return new BodyFields(this, this.#scanner, { where, known })
  }

  /** Enters an object whose member names the client chooses. The caller consumes the values. */
  enterEntries(where: string): void {
    this.#enterObject(where)
  }

  /** Stops before the value of the next entry. Answers undefined at the end of the object. */
  nextEntry(): string | undefined {
    return this.#scanner.nextMember() ? nameAt(this.#scanner) : undefined
  }

  /**
   * Reads an object from keys to documents. If a key occurs several times, its last document
   * counts.
   */
  *readDocuments(where: string): Sliced<readonly Insert[]> {
    const inserts: Insert[] = []
    const hashes = new HashSet()
    let hasDuplicates = false
    const scanner = this.#scanner
    this.#enterObject(where, DOCUMENTS)
    while (scanner.nextMember()) {
      const { nameStart, nameEnd, nameHasEscapes } = scanner
      this.#countOperations(1)
      if (!hashes.add(scanner.nameHash)) hasDuplicates = true
      try {
        const key = this.#key()
        scanner.beginValue()
        while (!scanner.scanSome(SCAN_STEP_BYTES)) yield
        const { shape } = scanner
        assertObject(shape)
        // Most documents are stored as the client sent them. They need no walk in steps.
        const json = isCompact(shape)
          ? this.#bytes.subarray(shape.start, shape.end)
          : yield* this.#compact(shape)
        assertDocumentSize(json.length)
        inserts.push(
          shape.hasSpecialNames ? { key, ...(yield* splitDocument(json)) } : { key, json },
        )
      } catch (cause) {
        const name = readString(this.#bytes, nameStart, nameEnd, nameHasEscapes)
        throw located(`${where}[${shownKey(name)}]`, cause)
      }
      if (this.#meter.spend(scanner.position - nameStart + ENTRY_COST_BYTES)) yield
    }
    return hasDuplicates ? yield* lastOfEachKey(inserts) : inserts
  }

  /** The request is charged for the full length, although the compact copy may be shorter. */
  *#compact(shape: ValueShape): Sliced<Buffer> {
    this.#limits.charge?.(shape.end - shape.start)
    return yield* compactJson(this.#bytes, shape)
  }

  /** Reads a short value that is neither a document nor a list. */
  readSmall(where: string): JsonValue {
    const scanner = this.#scanner
    scanner.beginValue()
    const start = scanner.position
    if (!scanner.scanSome(SMALL_VALUE_BYTES_MAX)) {
      return this.refuse(where, `has more than ${SMALL_VALUE_BYTES_MAX} bytes`)
    }
    return parseExact(this.#bytes.subarray(start, scanner.position))
  }

  readBoolean(where: string): boolean {
    const value = this.readSmall(where)
    return typeof value === 'boolean' ? value : this.refuse(where, 'must be true or false')
  }

  *readKeys(where: string): Sliced<readonly Buffer[]> {
    const keys: Buffer[] = []
    yield* this.#readElements(where, (place) => {
      keys.push(this.keyOf(this.readSmall(place), place))
    })
    return keys
  }

  *readTransforms(where: string): Sliced<readonly TransformRequest[]> {
    return yield* readTransforms(this.#scanner, where, (operations) =>
      this.#countOperations(operations),
    )
  }

  /** Reads a key. The empty string means that the client gave no key. */
  readOptionalKey(where: string): Buffer | undefined {
    const key = this.readSmall(where)
    return key === '' ? undefined : this.keyOf(key, where)
  }

  /** Reads an array of objects whose fields are all in `allowed`. */
  *readObjects<T>(
    where: string,
    allowed: readonly string[],
    parse: (members: JsonObject, place: string) => T,
  ): Sliced<readonly T[]> {
    const objects: T[] = []
    yield* this.#readElements(where, (place) => {
      const entry = this.readSmall(place)
      if (!isJsonObject(entry)) {
        this.#refuseKind(place, 'an object', entry)
        return
      }
      const unknown = Object.keys(entry).find((name) => !allowed.includes(name))
      if (unknown !== undefined) {
        this.refuse(place, `unknown field "${unknown}"; allowed are ${allowed.join(', ')}`)
      }
      objects.push(parse(entry, place))
    })
    return objects
  }

  keyOf(value: JsonValue | undefined, where: string): Buffer {
    return typeof value === 'string'
      ? at(where, () => parseDocumentKey(value))
      : this.refuse(where, 'must be a string, the key of a document')
  }

  refuse(where: string, problem: string): never {
    throw new ServiceError('INVALID_ARGUMENT', where === '' ? problem : `${where}: ${problem}`)
  }

  #enterObject(where: string, wanted = 'an object'): void {
    this.#scanner.skipWhitespace()
    const { position } = this.#scanner
    const kind = kindAt(this.#bytes, position)
    const isNumber = NUMBER_BEGINS.has(this.#bytes[position] ?? 0)
    if (kind !== 'object' && (kind !== 'number' || isNumber)) {
      const problem = `must be ${wanted}, not ${kind}`
      this.refuse(where, where === '' ? `the body ${problem}` : problem)
    }
    if (where === '') this.#scanner.enterObject()
    else at(where, () => this.#scanner.enterObject())
  }

  /** Each element counts as an operation. */
  *#readElements(where: string, read: (place: string) => void): Sliced<void> {
    const scanner = this.#scanner
    scanner.skipWhitespace()
    if (kindAt(this.#bytes, scanner.position) !== 'array') {
      this.#refuseKind(
        where,
        'an array',
        at(where, () => this.readSmall(where)),
      )
    }
    scanner.enterArray()
    for (let index = 0; scanner.nextElement(); index++) {
      const start = scanner.position
      this.#countOperations(1)
      read(`${where}[${index}]`)
      if (this.#meter.spend(scanner.position - start + ENTRY_COST_BYTES)) yield
    }
  }

  #countOperations(count: number): void {
    const { operationsMax = Infinity, charge } = this.#limits
    this.#operations += count
    if (this.#operations > operationsMax) {
      this.refuse(
        '',
        `the request has more than ${operationsMax} documents, keys and operations; send several`,
      )
    }
    charge?.(count * OPERATION_BYTES)
  }

  #refuseKind(where: string, wanted: string, value: JsonValue): never {
    return this.refuse(where, `must be ${wanted}, not ${describeKind(value)}`)
  }

  /**
   * The current name as a key. A name without escapes is a slice of the body, so nothing is copied.
   */
  #key(): Buffer {
    const { nameStart, nameEnd, nameHasEscapes } = this.#scanner
    if (nameHasEscapes) return parseDocumentKey(nameAt(this.#scanner))
    const key = this.#bytes.subarray(nameStart, nameEnd)
    assertKeySize(key.length)
    return key
  }
}

/** The fields of one object in a body. Each field may occur once. */
class BodyFields<Name extends string> {
  readonly #body: BodyReader
  readonly #scanner: JsonScanner
  readonly #where: string
  readonly #known: readonly Name[]
  readonly #seen: Name[] = []

  constructor(
    body: BodyReader,
    scanner: JsonScanner,
    { where, known }: { readonly where: string; readonly known: readonly Name[] },
  ) {
    this.#body = body
    this.#scanner = scanner
    this.#where = where
    this.#known = known
  }

  /** Stops before the value of the next field. Answers undefined at the end of the object. */
  next(): Name | undefined {
    if (!this.#scanner.nextMember()) return undefined
    const given = nameAt(this.#scanner)
    const name = this.#known.find((known) => known === given)
    if (name === undefined) {
      const allowed = this.#known.join(', ')
      return this.#body.refuse(this.#where, `unknown field "${given}"; allowed are ${allowed}`)
    }
    if (this.#seen.includes(name)) this.#body.refuse(this.#where, `field "${name}" is given twice`)
    this.#seen.push(name)
    return name
  }

  /** The place of a field's value, for messages. */
  placeOf(name: Name): string {
    return this.#where === '' ? name : `${this.#where}.${name}`
  }
}

function assertObject({ kind }: ValueShape): void {
  if (kind === 'object') return
  throw new ServiceError('INVALID_ARGUMENT', `must be an object, not ${kind}`)
}

function nameAt({ bytes, nameStart, nameEnd, nameHasEscapes }: JsonScanner): string {
  return readString(bytes, nameStart, nameEnd, nameHasEscapes)
}

/**
 * Two keys have the same hash, so the keys themselves must be compared. A repeated key keeps the
 * place of its first document.
 */
function* lastOfEachKey(inserts: readonly Insert[]): Sliced<readonly Insert[]> {
  const suspects = yield* suspectKeys(inserts)
  const meter = new StepMeter(KEYS_PER_STEP)
  const last = new Map<string, Insert>()
  for (const insert of inserts) {
    if (meter.spend(1)) yield
    if (suspects.has(hashOfBytes(insert.key))) last.set(insert.key.toString('latin1'), insert)
  }
  const kept: Insert[] = []
  for (const insert of inserts) {
    if (meter.spend(1)) yield
    if (!suspects.has(hashOfBytes(insert.key))) {
      kept.push(insert)
      continue
    }
    const name = insert.key.toString('latin1')
    const latest = last.get(name)
    if (latest !== undefined) kept.push(latest)
    last.delete(name)
  }
  return kept
}

/** The hashes that several keys share. */
function* suspectKeys(inserts: readonly Insert[]): Sliced<HashSet> {
  const meter = new StepMeter(KEYS_PER_STEP)
  const seen = new HashSet()
  const twice = new HashSet()
  for (const { key } of inserts) {
    if (meter.spend(1)) yield
    const hash = hashOfBytes(key)
    if (!seen.add(hash)) twice.add(hash)
  }
  return twice
}
