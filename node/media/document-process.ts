// One process that reads documents, one after the other.
//
//   fork ──► idle ──job──► reading ──answer──► idle
//              │               └─late, exit──► ended
//              └──────end───────────────────► ended

import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import {
  boundedNode,
  inheritedEnvironment,
  preloadFolders,
  withTargets,
} from '../../lib/bounded-node.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Env } from '../../lib/env.ts'
import { messageOf } from '../../lib/errors.ts'
import { unlessAborted } from '../../lib/unless-aborted.ts'
import type { DocumentReading, DocumentRequest } from './document-protocol.ts'

const ENTRY = path.join(import.meta.dirname, 'document-worker.ts')
const PROJECT = path.resolve(import.meta.dirname, '../..')
const MIB = 1024 * 1024
const MEMORY_BYTES_MAX = 1536 * MIB
const HEAP_MIB_MAX = 768
/**
 * The process may read the sources and packages, where its parsers and their fonts are. It may write no
 * file, and start no process and no thread.
 */
const READABLE = ['node', 'lib', 'node_modules', 'package.json']
const PERMISSIONS = ['--permission', '--allow-addons']

function permissionsOf(environment: Env): readonly string[] {
  const program = withTargets(READABLE.map((name) => path.join(PROJECT, name)))
  const readable = [...program, ...preloadFolders(environment)]
  return [...PERMISSIONS, ...readable.map((name) => `--allow-fs-read=${name}`)]
}

const CHUNK_BYTES = 256 * 1024
/** The article of a page is given up sooner: without it the page still has its text. */
const TIMEOUT_MS_MAX = { pdf: Infinity, html: 5_000, image: 20_000 } as const

/**
 * For glibc's allocator: large blocks go back to the system when a document is done. By itself it keeps them, more of them with
 * each document and thread, and the next document would find too little within the process's limit.
 */
const ALLOCATION = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '131072' }

/** The time for one document, and what the process inherits. */
export interface DocumentProcessOptions {
  readonly clock: Clock
  readonly environment: Env
  readonly timeoutMs: number
}

/** Reads one document at a time. Once a document was refused for its time or memory, it has ended. */
export class DocumentProcess {
  readonly #options: DocumentProcessOptions
  readonly #child: ChildProcess
  /** Resolves to what is answered to a document that was being read. */
  readonly #ended: Promise<DocumentReading>
  #hasEnded = false

  constructor(options: DocumentProcessOptions) {
    this.#options = options
    this.#child = fork(ENTRY, [], {
      env: { ...inheritedEnvironment(options.environment), ...ALLOCATION },
      ...boundedNode({
        memoryBytesMax: MEMORY_BYTES_MAX,
        heapMibMax: HEAP_MIB_MAX,
        nodeArguments: permissionsOf(options.environment),
      }),
      serialization: 'advanced',
      stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
      detached: true, // Ctrl-C in a terminal goes to the whole group
    })
    this.#child.stdin?.on('error', () => undefined) // it ended, which its exit says
    this.#ended = this.#exit()
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** The reading. Refused if the process ends or is too slow. Rejects with the signal's reason. */
  async read(
    bytes: Buffer,
    request: DocumentRequest,
    signal: AbortSignal,
  ): Promise<DocumentReading> {
    const { clock } = this.#options
    const timeoutMs = Math.min(this.#options.timeoutMs, TIMEOUT_MS_MAX[request.kind])
    const over = new AbortController()
    const settled = { signal: over.signal }
    const answer = once(this.#child, 'message', settled).then(([found]: DocumentReading[]) => found)
    const outcome = Promise.race([
      answer,
      clock
        .sleep(timeoutMs, over.signal)
        .then(() => refused(`reading it takes more than ${timeoutMs} ms`)),
      this.#ended,
    ])
    let hasAnswered = false
    answer.then(
      () => (hasAnswered = true),
      () => undefined, // another outcome came first
    )
    try {
      this.#child.send({ ...request, length: bytes.length }, () => undefined)
      void this.#sendBytes(bytes)
      return (await unlessAborted(outcome, signal)) ?? refused('its reader gave no answer')
    } finally {
      over.abort()
      if (!hasAnswered) this.end() // the process may still work on the document
    }
  }

  end(): void {
    this.#hasEnded = true
    this.#child.kill('SIGKILL')
  }

  async close(): Promise<void> {
    this.end()
    await this.#ended
  }

  async #exit(): Promise<DocumentReading> {
    try {
      const [code, signal]: (number | string | null)[] = await once(this.#child, 'exit')
      const memory = `${MEMORY_BYTES_MAX / MIB} MiB of memory`
      return refused(`its reader ended (${signal ?? code}); it may need more than ${memory}`)
    } catch (error) {
      return refused(`its reader could not be started: ${messageOf(error)}`)
    } finally {
      this.#hasEnded = true
    }
  }

  async #sendBytes(bytes: Buffer): Promise<void> {
    for (let from = 0; from < bytes.length && !this.#hasEnded; from += CHUNK_BYTES) {
      const chunk = bytes.subarray(from, from + CHUNK_BYTES)
      await new Promise((resolve) => this.#child.stdin?.write(chunk, resolve))
    }
  }
}

function refused(why: string): DocumentReading {
  return { kind: 'refused', why }
}
