// The disk under a traced process, rebuilt from its system calls alone: what a power failure at any
// moment would leave, at least and perhaps.
//
// A file's bytes are safe once the file was synced after they were written, or when they were written
// through a descriptor with O_DSYNC or O_SYNC. A name is safe once its directory was synced after
// the name was made, changed or removed. Each unsafe sector may be there or not, independently; the
// changes of one directory come in their order, as journals of file systems keep them.
// A call that this file does not understand, on a file below the root, is an error.

import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { must } from '../../../lib/assert.ts'
import type { Random } from '../../../lib/random.ts'
import { stringsOf, type Syscall } from './syscall-trace.ts'
import { TracedFile, type FileChange, type SparseBytes } from './traced-file.ts'

type Node = TracedFile | TracedDirectory
type Names = Map<string, Node>
/** One change of names, whole or not at all. */
type NameChange = (names: Names) => void

class TracedDirectory {
  readonly names: Names = new Map()
  readonly #synced: Names = new Map()
  #unsynced: readonly NameChange[] = []

  change(change: NameChange): void {
    change(this.names)
    this.#unsynced = [...this.#unsynced, change]
  }

  /** What a sync that begins now makes durable. */
  covered(): readonly NameChange[] {
    return this.#unsynced
  }

  /** Whether that changed what is on the disk for good. */
  sync(covered: readonly NameChange[]): boolean {
    const left = this.#unsynced.filter((change) => !covered.includes(change))
    const applied = this.#unsynced.slice(0, this.#unsynced.length - left.length)
    for (const change of applied) change(this.#synced)
    this.#unsynced = left
    return applied.length > 0
  }

  /** As a power failure now would leave it; without chance, only what was synced. */
  afterFailure(random: Random | undefined): Names {
    const names = new Map(this.#synced)
    const kept = random === undefined ? 0 : Math.floor(random() * (this.#unsynced.length + 1))
    for (const change of this.#unsynced.slice(0, kept)) change(names)
    return names
  }
}

interface Handle {
  readonly node: Node
  readonly isSynchronous: boolean
  readonly isAppending: boolean
  position: number
}

/** What a call that has begun does when it ends, given its result: whether the disk has changed. */
type Completion = (result: number) => boolean

/**
 * A call that was under way when its process was killed. How much of it was done only the real files
 * say: so many bytes of a write; 1 or 0 of a change of names.
 */
export type Unfinished =
  | { readonly kind: 'write'; readonly file: string; readonly at: number; readonly bytes: Buffer }
  | {
      readonly kind: 'names'
      readonly appears: string | undefined
      readonly vanishes: string | undefined
    }

interface UnderWay {
  readonly unfinished: Unfinished
  readonly finish: (length: number) => void
}

const WRITES = /^(?:write|writev|pwrite64|pwritev)$/
const ON_DESCRIPTORS =
  /^(?:write|writev|pwrite64|pwritev2?|fsync|fdatasync|close|ftruncate|fallocate|dup|sync_|send)/
/** The descriptor of a file that no call holds open. */
const NO_DESCRIPTOR = -1
const CHANGES_NOTHING = /^(?:close|mmap)$/
/** Where a descriptor's path ends at the latest. */
const DESCRIPTOR_LENGTH_MAX = 1000

export class TracedDisk {
  readonly #root: string
  readonly #top = new TracedDirectory()
  readonly #open = new Map<number, Handle>()
  readonly #pending = new Map<Syscall, Completion>()
  readonly #underWay = new Map<Syscall, UnderWay>()

  /** Takes the root as an empty directory that is there for good. */
  constructor(root: string) {
    this.#root = root
  }

  /** Calls of the process that were under way, in the order in which they began. */
  get unfinished(): readonly Unfinished[] {
    return [...this.#underWay.values()].map(({ unfinished }) => unfinished)
  }

  /** The process has ended: the system keeps what it wrote, and so much of what is unfinished. */
  endProcess(lengths: readonly number[]): void {
    for (const [index, { finish }] of [...this.#underWay.values()].entries()) {
      finish(lengths[index] ?? 0)
    }
    this.#underWay.clear()
    this.#open.clear()
    this.#pending.clear()
  }

  /** Whether it is a write that will be durable when it ends. */
  begin(call: Syscall): boolean {
    const writesUnseen = call.name === 'io_uring_setup' && call.args.includes('IORING_SETUP_SQPOLL')
    if (writesUnseen) throw unknownCall(call)
    return this.#concerns(call) && this.#begin(call)
  }

  /** Whether what is on the disk for good has changed. */
  end(call: Syscall): boolean {
    if (call.result === undefined) return false // its process was killed
    const completion = this.#pending.get(call)
    this.#pending.delete(call)
    this.#underWay.delete(call)
    if (call.result < 0) return false
    if (completion !== undefined) return completion(call.result)
    if (!CHANGES_NOTHING.test(call.name) && this.#concerns(call)) this.#change(call, call.result)
    return false
  }

  /** Makes the directory `target` what a power failure now would leave of the root. */
  save(target: string, random?: Random): void {
    saveDirectory(this.#top, target, random)
  }

  /** The files below the root by their relative paths, as the running system shows them. */
  *files(directory = this.#top, at = ''): IterableIterator<readonly [string, SparseBytes]> {
    for (const [name, node] of directory.names) {
      if (node instanceof TracedFile) yield [path.join(at, name), node.now()]
      else yield* this.files(node, path.join(at, name))
    }
  }

  #beginWrite(call: Syscall, handle: Handle): void {
    const { node, isAppending, isSynchronous } = handle
    if (!(node instanceof TracedFile)) throw unknownCall(call)
    const hasOffset = call.name.startsWith('p')
    const next = isAppending ? node.size : handle.position
    const at = hasOffset ? Number(/\d+$/.exec(call.args)?.[0]) : next
    const bytes = stringsOf(call.args)
    const change = node.change(at, bytes)
    const finish = (length: number): FileChange => node.complete(change, length)
    const file = /<([^>]*)>/.exec(call.args)?.[1] ?? ''
    this.#underWay.set(call, { unfinished: { kind: 'write', file, at, bytes }, finish })
    this.#pending.set(call, (result) => {
      const complete = finish(result)
      if (!hasOffset) handle.position = at + result
      return isSynchronous && node.sync([complete])
    })
  }

  #begin(call: Syscall): boolean {
    const { name, args } = call
    if (name === 'mmap') {
      if (args.includes('PROT_WRITE') && args.includes('MAP_SHARED')) throw unknownCall(call)
    } else if (name === 'fsync' || name === 'fdatasync') {
      this.#pending.set(call, beginSync(this.#handleOf(call).node))
    } else if (WRITES.test(name)) {
      const handle = this.#handleOf(call)
      this.#beginWrite(call, handle)
      return handle.isSynchronous
    } else if (name === 'close') {
      // Another thread may be given the number before the call has returned.
      this.#open.delete(descriptorOf(call))
    } else if (!ON_DESCRIPTORS.test(name)) {
      this.#beginNames(call)
    }
    return false
  }

  /** Notes the names that a call is about to change. Other calls have nothing to finish. */
  #beginNames(call: Syscall): void {
    const [first = '', second = ''] = pathsOf(call)
    const known = this.#find(first)
    const isRemoval = /^(?:rename|unlink|rmdir)/.test(call.name)
    if (isRemoval ? known === undefined : known !== undefined) return
    const appears = isRemoval ? second || undefined : first
    const unfinished = { kind: 'names', appears, vanishes: isRemoval ? first : undefined } as const
    const finish = (length: number): void => {
      if (length > 0) this.#change(call, NO_DESCRIPTOR)
    }
    this.#underWay.set(call, { unfinished, finish })
  }

  #concerns({ name, args }: Syscall): boolean {
    if (name !== 'mmap' && !ON_DESCRIPTORS.test(name)) return args.includes(`"${this.#root}`)
    const head = args.slice(0, DESCRIPTOR_LENGTH_MAX)
    const from = head.indexOf(`<${this.#root}`)
    return from >= 0 && !head.slice(0, from).includes('"')
  }

  #handleOf(call: Syscall): Handle {
    return must(this.#open.get(descriptorOf(call)), `an open file: ${call.args.slice(0, 200)}`)
  }

  #change(call: Syscall, result: number): void {
    const [first = '', second = ''] = pathsOf(call)
    switch (call.name) {
      case 'openat':
        this.#open.set(result, this.#opened(call, first))
        return
      case 'ftruncate':
        truncate(this.#handleOf(call).node, Number(/\d+$/.exec(call.args)?.[0]))
        return
      case 'mkdir':
        this.#set(first, new TracedDirectory())
        return
      case 'rename':
        this.#rename(first, second)
        return
      case 'unlink':
      case 'rmdir':
        this.#parentOf(first).change((names) => names.delete(path.basename(first)))
        return
      default:
        throw unknownCall(call)
    }
  }

  #opened({ args }: Syscall, file: string): Handle {
    if (!args.startsWith('AT_FDCWD')) throw new Error(`not an absolute path: ${args}`)
    const node = this.#find(file) ?? this.#set(file, new TracedFile())
    if (node instanceof TracedFile && /\bO_TRUNC\b/.test(args) && node.size > 0) truncate(node, 0)
    return {
      node,
      isSynchronous: /\bO_D?SYNC\b/.test(args),
      isAppending: /\bO_APPEND\b/.test(args),
      position: 0,
    }
  }

  #rename(from: string, to: string): void {
    const directory = this.#parentOf(from)
    if (this.#parentOf(to) !== directory) throw new Error(`${from} moves to another directory`)
    const node = must(this.#find(from), `a known file: ${from}`)
    directory.change((names) => {
      names.delete(path.basename(from))
      names.set(path.basename(to), node)
    })
  }

  #set(at: string, node: Node): Node {
    this.#parentOf(at).change((names) => names.set(path.basename(at), node))
    return node
  }

  #parentOf(at: string): TracedDirectory {
    const node = this.#find(path.dirname(at))
    if (node instanceof TracedDirectory) return node
    throw new Error(`no directory is known for ${at}`)
  }

  #find(at: string): Node | undefined {
    let node: Node | undefined = this.#top
    for (const name of path.relative(this.#root, at).split(path.sep)) {
      if (name === '') continue
      node = node instanceof TracedDirectory ? node.names.get(name) : undefined
    }
    return node
  }
}

function beginSync(node: Node): Completion {
  if (node instanceof TracedFile) {
    const covered = node.covered()
    return () => node.sync(covered)
  }
  const covered = node.covered()
  return () => node.sync(covered)
}

function truncate(node: Node, size: number): void {
  if (!(node instanceof TracedFile)) throw new Error('only files are truncated')
  node.complete(node.change(size, undefined), 0)
}

function saveDirectory(directory: TracedDirectory, target: string, random?: Random): void {
  mkdirSync(target, { recursive: true })
  for (const [name, node] of directory.afterFailure(random)) {
    const at = path.join(target, name)
    if (node instanceof TracedFile) node.afterFailure(random).save(at)
    else saveDirectory(node, at, random)
  }
}

function descriptorOf({ args }: Syscall): number {
  return Number(/^\d+/.exec(args)?.[0])
}

/** The strings before the last argument, one by one. */
function pathsOf({ name, args }: Syscall): readonly string[] {
  if (ON_DESCRIPTORS.test(name) || name === 'mmap') return []
  return [...args.matchAll(/"([^"\\]*)"/g)].map(([, text = '']) => text)
}

function unknownCall({ name, args }: Syscall): Error {
  return new Error(`the model of the disk does not know this call: ${name}(${args.slice(0, 300)})`)
}
