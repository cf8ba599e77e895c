// Long texts, images and lists on their way between the server and a worker. To copy one in a single
// message would hold up the server for as long, so it goes ahead of its message in pieces, and is put
// back where it arrives.
//
// Invariants:
//   LP1  Pieces stand directly before the message that they belong to, in order.
//   LP2  What `PayloadCollector.receive` answers is equal to what `detachLarge` was given.

import { assert } from '../../lib/assert.ts'

/** Copied within about a millisecond. */
const PIECE_CHARS = 512 * 1024
const PIECE_BYTES = 1024 * 1024
/** Of objects of a few members. Lists that are longer hold nothing large by themselves. */
const PIECE_ITEMS = 2048
/** A message, its items, an item, its members; no further down is anything large. */
const DEPTH_MAX = 5

type Path = readonly (string | number)[]

type Large = string | Uint8Array | readonly unknown[]

/** A part of a text, of bytes or of a list; `path` says of what in the message that follows. */
export interface PayloadPiece {
  readonly kind: 'piece'
  readonly path: Path
  readonly data: Large
}

export interface Detached<Message> {
  /** With empty texts and bytes where pieces were taken. */
  readonly message: Message
  readonly pieces: readonly PayloadPiece[]
}

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

/** Ids of tokens come in long lists, and none of them is large. */
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

/** Texts and bytes without a copy; it is made when the piece is sent. */
function partOf(value: Large, from: number, to: number): Large {
  return value instanceof Uint8Array ? value.subarray(from, to) : value.slice(from, to)
}

/** A copy of the objects along the path; all else is shared. */
function withValueAt<Whole extends object>(whole: Whole, path: Path, value: unknown): Whole {
  const [key = '', ...rest] = path
  const copy = Array.isArray(whole) ? [...whole] : { ...whole }
  const inner: unknown = Reflect.get(whole, key)
  const isLast = rest.length === 0
  assert(isLast || (typeof inner === 'object' && inner !== null), 'a path leads through objects')
  Reflect.set(copy, key, isLast ? value : withValueAt(Object(inner), rest, value))
  return Object(copy)
}

/** The other end: puts large values back into the message that follows their pieces. */
export class PayloadCollector {
  readonly #parts = new Map<string, { readonly path: Path; readonly data: Large[] }>()

  /** Undefined for a piece. */
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

/** Calls with whole messages. */
export function collected<Message extends object>(
  onMessage: (message: Message) => void,
): (message: Message | PayloadPiece) => void {
  const collector = new PayloadCollector()
  return (message) => {
    const whole = collector.receive(message)
    if (whole !== undefined) onMessage(whole)
  }
}
