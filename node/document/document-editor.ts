// A stored document while transforms change it. Only the parts that the operations name are opened;
// the text between them is copied unchanged.

import { unreachable } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { DOCUMENT_DEPTH_MAX, kindAt, type JsonKind } from './json-scanner.ts'
import { AskedNames, OpenObject, type EditedValue } from './open-object.ts'
import { OpenArray } from './open-array.ts'
import { TextWriter } from './text-writer.ts'

const EMPTY_OBJECT = Buffer.from('{}')
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/**
 * Ends the change of a document with an error, because the stored document does not allow the
 * operation.
 */
export type Refuse = (problem: string) => never

/**
 * Changes one document; `text` returns the result. Every path starts at the
 * document and names members of objects; an array on the way is refused.
 */
export class DocumentEditor {
  readonly #asked: AskedNames
  readonly #textBytes: number
  #root: EditedValue

  /**
   * `names` holds every segment of every path that the caller will use. The default document is
   * `{}`.
   */
  constructor(document: Buffer = EMPTY_OBJECT, names: Iterable<string>) {
    this.#root = document
    this.#textBytes = document.length
    this.#asked = new AskedNames(names)
  }

  /** The value at a path of member names; undefined if the document has no such member. */
  *valueAt(path: readonly string[], refuse: Refuse): Sliced<EditedValue | undefined> {
    const parent = yield* this.#parentOf(path, refuse)
    return parent?.get(path.at(-1) ?? '')
  }

  /** Puts a value at the path. Creates the parents that are missing. */
  *put(path: readonly string[], value: EditedValue, refuse: Refuse): Sliced<void> {
    const names = path.slice(0, -1)
    let parent = yield* this.#openRoot()
    for (const name of names) {
      if (parent.get(name) === undefined) parent.set(name, new OpenObject())
      const next = yield* this.#openMember(parent, name, refuse)
      parent = next ?? parent
    }
    parent.set(path.at(-1) ?? '', value)
  }

  *remove(path: readonly string[], refuse: Refuse): Sliced<void> {
    const parent = yield* this.#parentOf(path, refuse)
    parent?.remove(path.at(-1) ?? '')
  }

  /** The document as compact JSON. */
  *text(): Sliced<Buffer> {
    if (Buffer.isBuffer(this.#root)) return this.#root
    const writer = new TextWriter(this.#textBytes)
    yield* writeValue(writer, this.#root, 1)
    return writer.finish()
  }

  *#parentOf(path: readonly string[], refuse: Refuse): Sliced<OpenObject | undefined> {
    let parent: OpenObject | undefined = yield* this.#openRoot()
    for (const name of path.slice(0, -1)) {
      parent = yield* this.#openMember(parent, name, refuse)
      if (parent === undefined) return undefined
    }
    return parent
  }

  *#openRoot(): Sliced<OpenObject> {
    if (this.#root instanceof OpenObject) return this.#root
    const text = Buffer.isBuffer(this.#root) ? this.#root : EMPTY_OBJECT
    const root = yield* OpenObject.open(text, this.#asked)
    this.#root = root
    return root
  }

  *#openMember(parent: OpenObject, name: string, refuse: Refuse): Sliced<OpenObject | undefined> {
    const value = parent.get(name)
    if (value === undefined || value instanceof OpenObject) return value
    const kind = jsonKindOf(value)
    if (!Buffer.isBuffer(value) || kind !== 'object') {
      return refuse(`"${name}" is of type ${kindName(kind)}, not object`)
    }
    const opened = yield* OpenObject.open(value, this.#asked)
    parent.set(name, opened)
    return opened
  }
}

export function jsonKindOf(value: EditedValue): JsonKind {
  if (Buffer.isBuffer(value)) return kindAt(value, 0)
  return value instanceof OpenArray ? 'array' : 'object'
}

/** The name of a kind, for messages. */
export function kindName(kind: JsonKind): string {
  return kind === 'true' || kind === 'false' ? 'boolean' : kind
}

function* writeValue(writer: TextWriter, value: EditedValue, depth: number): Sliced<void> {
  if (Buffer.isBuffer(value)) {
    writer.append(value)
  } else if (value instanceof OpenArray) {
    yield* value.writeTo(writer)
  } else if (value instanceof OpenObject) {
    if (depth > DOCUMENT_DEPTH_MAX) {
      const problem = `document is nested deeper than ${DOCUMENT_DEPTH_MAX} levels`
      throw new ServiceError('INVALID_ARGUMENT', problem)
    }
    yield* writeObject(writer, value, depth)
  } else {
    unreachable(value)
  }
}

function* writeObject(writer: TextWriter, { parts }: OpenObject, depth: number): Sliced<void> {
  writer.appendByte(OPEN_BRACE)
  const start = writer.length
  for (const part of parts) {
    if (!Buffer.isBuffer(part) && part.value === undefined) continue
    if (writer.length > start) writer.appendByte(COMMA)
    if (Buffer.isBuffer(part)) {
      writer.append(part)
    } else if (part.value !== undefined) {
      writer.append(part.nameText)
      writer.appendByte(COLON)
      yield* writeValue(writer, part.value, depth + 1)
    }
  }
  writer.appendByte(CLOSE_BRACE)
  yield
}
