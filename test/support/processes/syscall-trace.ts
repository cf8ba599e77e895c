// What strace writes, read back: each system call of each thread, when it begins and when it ends.
//
//   123 write(5</data/x>, "ab", 2) = 2                begins and ends
//   123 fsync(5</data/x> <unfinished ...>             begins; another thread comes between
//   123 <... fsync resumed>)          = 0             ends
//
// Lines are in the order in which strace saw the stops, and it resumes a thread only after that. So
// whatever one call made another one do comes later in the file.

import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

/** All that changes files or directories, or could, and what sends answers. */
const CALLS = [
  ['openat', 'open', 'creat', 'close', 'dup', 'dup2', 'dup3', 'mmap', 'io_uring_setup'],
  ['write', 'pwrite64', 'writev', 'pwritev', 'pwritev2', 'sendto', 'sendmsg', 'sendfile'],
  ['fsync', 'fdatasync', 'sync_file_range', 'msync', 'sync', 'syncfs'],
  ['rename', 'renameat', 'renameat2', 'unlink', 'unlinkat', 'link', 'linkat', 'symlink'],
  ['mkdir', 'mkdirat', 'rmdir', 'truncate', 'ftruncate', 'fallocate', 'copy_file_range', 'splice'],
].flat()
/** Longer than what any call writes; strace would end a longer string with an ellipsis. */
const STRING_BYTES_MAX = 32 * 1024 * 1024
/** Where a result may begin, from the end of a line: behind it comes at most a path. */
const RESULT_TAIL = 600
const ESCAPES: Readonly<Record<string, number>> = { n: 10, t: 9, r: 13, v: 11, f: 12 }
const [QUOTE, BACKSLASH, ZERO, SEVEN] = [34, 92, 48, 55]

/** The command that runs a program and writes its trace into a file. */
export function tracing(file: string): readonly string[] {
  const options = ['-f', '-yy', '--seccomp-bpf', '-s', String(STRING_BYTES_MAX)]
  return ['strace', ...options, '-e', `trace=${CALLS.join()}`, '-o', file, '--']
}

export interface Syscall {
  readonly name: string
  /** As strace writes them, without the brackets. */
  readonly args: string
  /** Undefined until it ends, or when the process ended before that; negative for an error. */
  result: number | undefined
}

/** The same object comes once for its beginning and once for its end. */
export interface SyscallEvent {
  readonly phase: 'begins' | 'ends'
  readonly call: Syscall
}

export async function* readTrace(file: string): AsyncGenerator<SyscallEvent> {
  const unfinished = new Map<string, Syscall>()
  const input = createReadStream(file, { encoding: 'latin1', highWaterMark: 1024 * 1024 })
  for await (const line of createInterface({ input })) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/s.exec(line) ?? []
    if (rest.startsWith('<... ')) {
      const call = unfinished.get(thread)
      if (call === undefined) throw new Error(`no call to resume: ${line.slice(0, 200)}`)
      unfinished.delete(thread)
      call.result = resultOf(rest)
      yield { phase: 'ends', call }
      continue
    }
    const bracket = rest.indexOf('(')
    if (bracket < 0 || !/^[a-z0-9_]+$/.test(rest.slice(0, bracket))) continue // an exit, a signal
    const call = callOf(rest, bracket)
    yield { phase: 'begins', call }
    if (call.result === undefined) unfinished.set(thread, call)
    else yield { phase: 'ends', call }
  }
}

function callOf(text: string, bracket: number): Syscall {
  const name = text.slice(0, bracket)
  const cut = text.indexOf(' <unfinished ...>', text.length - RESULT_TAIL)
  if (cut >= 0) return { name, args: text.slice(bracket + 1, cut), result: undefined }
  const end = text.length - tailOf(text).length
  return { name, args: text.slice(bracket + 1, end), result: resultOf(text) }
}

function tailOf(text: string): string {
  const tail = /\)\s+= (?:-?\d+|\?|0x)[^"]*$/.exec(text.slice(-RESULT_TAIL))
  if (tail === null) throw new Error(`no result in ${text.slice(-RESULT_TAIL)}`)
  return tail[0]
}

function resultOf(text: string): number | undefined {
  const found = /^\)\s+= (-?\d+)/.exec(tailOf(text))
  return found === null ? undefined : Number(found[1])
}

/** All strings among the arguments, one behind the other: of a vector, what it writes. */
export function stringsOf(args: string): Buffer {
  const bytes = Buffer.allocUnsafe(args.length)
  let length = 0
  let at = args.indexOf('"')
  while (at >= 0) {
    at += 1
    while (args.charCodeAt(at) !== QUOTE) {
      const code = args.charCodeAt(at)
      if (code !== BACKSLASH) {
        bytes[length++] = code
        at += 1
        continue
      }
      const escaped = escapedAt(args, at + 1)
      bytes[length++] = escaped.byte
      at = escaped.next
    }
    if (args.startsWith('...', at + 1)) throw new Error('strace cut a string short')
    at = args.indexOf('"', at + 1)
  }
  return bytes.subarray(0, length)
}

function escapedAt(text: string, at: number): { readonly byte: number; readonly next: number } {
  let byte = 0
  let next = at
  for (; next < at + 3; next++) {
    const code = text.charCodeAt(next)
    if (code < ZERO || code > SEVEN) break
    byte = byte * 8 + code - ZERO
  }
  if (next > at) return { byte, next }
  const letter = text.charAt(at)
  return { byte: ESCAPES[letter] ?? letter.charCodeAt(0), next: at + 1 }
}

export interface TracedAnswer {
  readonly clientPort: number
  readonly status: number
}

/** An answer of an HTTP server, at the moment at which it hands it to the system. */
export function answerOf({ name, args }: Syscall): TracedAnswer | undefined {
  if (!name.startsWith('write') && !name.startsWith('send')) return undefined
  const found = /^\d+<TCP:\[[^\]]*->[^\]]*:(\d+)\]>, [^"]*"HTTP\/1\.1 (\d{3}) /.exec(
    args.slice(0, RESULT_TAIL),
  )
  if (found === null) return undefined
  return { clientPort: Number(found[1]), status: Number(found[2]) }
}
