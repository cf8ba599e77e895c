// Packs entries as a tar stream: the POSIX format of 1988 (ustar), with an extended header of 2001 (pax) before each
// entry whose path or target is too long for it. Equal entries make equal bytes: nothing is taken from the machine.

import type { ImageEntry } from '../files/entries.ts'
import { assert } from '../../lib/assert.ts'

const BLOCK_BYTES = 512
const NAME_BYTES_MAX = 100
/** Eleven octal digits. */
const SIZE_MAX = 8 ** 11 - 1
const CHECKSUM_AT = 148
const CHECKSUM_BLANK = ' '.repeat(8)

const TYPE = { file: '0', link: '2', directory: '5', extended: 'x' } as const

interface Header {
  readonly name: string
  readonly mode: number
  readonly owner: number
  readonly size: number
  readonly type: string
  readonly target: string
}

/** The entries as they are given: the caller has put directories before what they hold. */
export async function* packTar(entries: Iterable<ImageEntry>): AsyncGenerator<Buffer> {
  for (const entry of entries) {
    yield headerOf(entry)
    if (entry.kind !== 'file') continue
    let size = 0
    for await (const bytes of entry.bytes()) {
      size += bytes.length
      yield bytes
    }
    assert(size === entry.size, `${entry.path} keeps its size while it is packed`)
    yield padding(size)
  }
  yield Buffer.alloc(2 * BLOCK_BYTES)
}

function headerOf(entry: ImageEntry): Buffer {
  const { kind, mode, owner } = entry
  const name = kind === 'directory' ? `${entry.path}/` : entry.path
  const target = kind === 'link' ? entry.target : ''
  const size = kind === 'file' ? entry.size : 0
  assert(size <= SIZE_MAX, `${name} is short enough for a tar header`)
  const long = [
    ...(Buffer.byteLength(name) > NAME_BYTES_MAX ? [extendedRecord('path', name)] : []),
    ...(Buffer.byteLength(target) > NAME_BYTES_MAX ? [extendedRecord('linkpath', target)] : []),
  ]
  const own = block({ name, mode, owner, size, type: TYPE[kind], target })
  return long.length === 0 ? own : Buffer.concat([extension(long.join('')), own])
}

/** A record tells its own length, in which the digits of the length count. */
function extendedRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  let length = bytes
  while (length !== bytes + String(length).length) length = bytes + String(length).length
  return `${length}${rest}`
}

function extension(records: string): Buffer {
  const content = Buffer.from(records)
  const type = TYPE.extended
  const header = {
    name: 'PaxHeader',
    mode: 0o644,
    owner: 0,
    size: content.length,
    type,
    target: '',
  }
  return Buffer.concat([block(header), content, padding(content.length)])
}

function block({ name, mode, owner, size, type, target }: Header): Buffer {
  const bytes = Buffer.alloc(BLOCK_BYTES)
  const put = (text: string, at: number, length: number): void =>
    void Buffer.from(text).copy(bytes, at, 0, length)
  put(name, 0, NAME_BYTES_MAX)
  put(octal(mode, 8), 100, 8)
  put(octal(owner, 8), 108, 8)
  put(octal(owner, 8), 116, 8)
  put(octal(size, 12), 124, 12)
  put(octal(0, 12), 136, 12) // the time: the beginning of 1970
  put(CHECKSUM_BLANK, CHECKSUM_AT, CHECKSUM_BLANK.length)
  put(type, 156, 1)
  put(target, 157, NAME_BYTES_MAX)
  put('ustar\u000000', 257, 8)
  const sum = bytes.reduce((all, each) => all + each, 0)
  put(`${sum.toString(8).padStart(6, '0')}\u0000 `, CHECKSUM_AT, 8)
  return bytes
}

/** Digits and the zero byte that ends them. */
function octal(value: number, length: number): string {
  return `${value.toString(8).padStart(length - 1, '0')}\u0000`
}

function padding(size: number): Buffer {
  return Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES)
}
