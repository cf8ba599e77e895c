// Carries long texts, images and lists between the server and a worker. Copying one of them within a
// single message would block the event loop, so the sender sends it in pieces ahead of its message,
// and the receiver puts it back.
//
// Invariants:
//   LP1  The pieces of a message are sent directly before it, in order.
//   LP2  `PayloadCollector.receive` returns a message equal to the one that `detachLarge` was given.

import { assert } from '../../lib/assert.ts'

/** A piece of this length is copied within about a millisecond. */
const PIECE_CHARS = 512 * 1024
const PIECE_BYTES = 1024 * 1024
/**
 * Objects of a few members. A longer list is sent in pieces as a whole; its items hold nothing
 * large.
 */
const PIECE_ITEMS = 2048
/** Message, items, item, members: nothing large is nested more deeply. */
const DEPTH_MAX = 5

type Path = readonly (string | number)[]

type Large = string | Uint8Array | readonly unknown[]

/**
 * A part of a text, of bytes or of a list. `path` leads to its place in the message that follows.
 */
export interface PayloadPiece {
  readonly kind: 'piece'
  readonly path: Path
  readonly data: Large
}

/** A message split for sending: the pieces go first, the slim message last. */
export interface Detached<Message> {
  /** The message with empty texts, bytes and lists in the places of the pieces. */
  readonly message: Message
  readonly pieces: readonly PayloadPiece[]
}

/** Splits the large values off a message. The given message is not changed. */
export function detachLarge<Message extends object>(message: Message): Detached<Message> {
  const found: { readonly path: Path; readonly value: Large }[] = []
  findLarge(message, [], (path, value) => found.push({ path, value }))
  if (found.length === 0) return { message, pieces: [] }
  const slim = found.reduce((copy, { path, value }) => {
    return withValueAt(copy, path, emptyLike(value))
  }, message)
  return { message: slim, pieces: found.flatMap(({ path, value }) => piecesOf(path, value)) }
}

function emptyLike(value: Large): Large {
  if (typeof value === 'string') return ''
  return value instanceof Uint8Array ? new Uint8Array() : []
}

function findLarge(value: unknown, path: Path, onFound: (path: Path, value: Large) => void): void {
  if (typeof value === 'string') {
    if (value.length > PIECE_CHARS) onFound(path, value)
  } else if (value instanceof Uint8Array) {
    if (value.length > PIECE_BYTES) onFound(path, value)
  } else if (isLongList(value)) {
    onFound(path, value)
  } else if (typeof value === 'object' && value !== null && path.length < DEPTH_MAX) {
    for (const [key, member] of membersOf(value)) {
      const isSmall = typeof member !== 'string' && typeof member !== 'object'
      if (!isSmall) findLarge(member, [...path, key], onFound)
    }
  }
}

function isLongList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > PIECE_ITEMS && typeof value[0] === 'object'
}

/** Long lists of token ids are skipped: numbers are never large. */
function membersOf(value: object): Iterable<readonly [string | number, unknown]> {
  if (!Array.isArray(value)) return Object.entries(value)
  return typeof value[0] === 'number' ? [] : value.entries()
}

function piecesOf(path: Path, value: Large): PayloadPiece[] {
  const size = pieceLengthOf(value)
  return Array.from({ length: Math.ceil(value.length / size) }, (_, index) => ({
    kind: 'piece',
    path,
    data: partOf(value, index * size, (index + 1) * size),
  }))
}

function pieceLengthOf(value: Large): number {
  if (typeof value === 'string') return PIECE_CHARS
  return value instanceof Uint8Array ? PIECE_BYTES : PIECE_ITEMS
}

/** Parts of bytes are views, which are copied when the piece is sent. */
function partOf(value: Large, from: number, to: number): Large {
  return value instanceof Uint8Array ? value.subarray(from, to) : value.slice(from, to)
}

/** Copies the objects along the path and shares all others. */
function withValueAt<Whole extends object>(whole: Whole, path: Path, value: unknown): Whole {
  const [key = '', ...rest] = path
  const copy = Array.isArray(whole) ? [...whole] : { ...whole }
  const inner: unknown = Reflect.get(whole, key)
  const isLast = rest.length === 0
  assert(isLast || (typeof inner === 'object' && inner !== null), 'a path leads through objects')
  Reflect.set(copy, key, isLast ? value : withValueAt(Object(inner), rest, value))
  return Object(copy)
}

/**
 * The receiving end: it collects pieces and puts them back into the message that follows them
 * (LP2).
 */
export class PayloadCollector {
  readonly #parts = new Map<string, { readonly path: Path; readonly data: Large[] }>()

  /**
   * Takes the next message of the channel. Returns undefined for a piece, and else the whole
   * message.
   */
  receive<Message extends object>(message: Message | PayloadPiece): Message | undefined {
    if (isPiece(message)) {
      const { path, data } = message
      const key = JSON.stringify(path)
      const known = this.#parts.get(key)
      if (known === undefined) this.#parts.set(key, { path, data: [data] })
      else known.data.push(data)
      return undefined
    }
    const parts = [...this.#parts.values()]
    this.#parts.clear()
    return parts.reduce((whole, { path, data }) => withValueAt(whole, path, joined(data)), message)
  }
}

function isPiece(message: object): message is PayloadPiece {
  return 'kind' in message && message.kind === 'piece'
}

function joined(data: readonly Large[]): Large {
  if (typeof data[0] === 'string') return data.join('')
  const bytes = data.filter((part) => part instanceof Uint8Array)
  return bytes.length > 0 ? Buffer.concat(bytes) : data.flat()
}

/** Wraps a listener so that it receives whole messages from a channel that carries pieces. */
export function collected<Message extends object>(
  onMessage: (message: Message) => void,
): (message: Message | PayloadPiece) => void {
  const collector = new PayloadCollector()
  return (message) => {
    const whole = collector.receive(message)
    if (whole !== undefined) onMessage(whole)
  }
}
