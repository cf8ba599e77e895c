// Downloads one file of a repository, over as many connections as necessary.
//
// The received bytes are kept in `<file>.part`, even if the process is killed, and the next attempt
// requests the rest. A part is not trusted: it is hashed from its beginning before it is continued. The
// file gets its name only when its size and digest match those of the hub. Wrong bytes are deleted and
// downloaded again.

import { mkdir, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Clock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { FileHasher, hashFile, verifyFile } from './file-digest.ts'
import { RetryableHubError } from './hub-client.ts'
import type { HubClient, Repository } from './hub-client.ts'
import type { HubFile } from './hub-listing.ts'
import { HubRetry } from './hub-retry.ts'
import type { RetryParts } from './hub-retry.ts'

/** A complete download may have a wrong digest this many times. */
const WRONG_BYTES_MAX = 2
/** A connection without new bytes for this long is closed. */
const STALL_MS = 30_000

/** The parts of a download. */
export interface DownloadParts extends RetryParts {
  readonly client: HubClient
  /** Called with the bytes of the file received so far. */
  readonly onBytes: (bytes: number) => void
}

/** The file to download, and the folder that it goes to. */
export interface DownloadTarget {
  readonly repository: Repository
  readonly file: HubFile
  readonly folder: string
}

/**
 * Downloads a file to `folder/file.path` and resolves to its SHA-256 in hex. A complete file that is
 * there already is kept. Rejects with CORRUPTION if the hub sends wrong bytes repeatedly.
 */
export async function downloadFile(
  { repository, file, folder }: DownloadTarget,
  parts: DownloadParts,
  signal: AbortSignal,
): Promise<string> {
  const place = path.join(folder, file.path)
  const existing = await verifyFile(place, file)
  if (existing !== undefined) {
    parts.onBytes(file.bytes)
    return existing
  }
  await mkdir(path.dirname(place), { recursive: true })
  const attempts = new Attempts({ repository, file, partPath: `${place}.part` }, parts)
  const sha256 = await attempts.run(signal)
  await rename(`${place}.part`, place)
  return sha256
}

interface Part {
  readonly repository: Repository
  readonly file: HubFile
  readonly partPath: string
}

class Attempts {
  readonly #part: Part
  readonly #parts: DownloadParts
  readonly #retry: HubRetry
  #bytes = 0
  #wrongBytes = 0

  constructor(part: Part, parts: DownloadParts) {
    this.#part = part
    this.#parts = parts
    this.#retry = new HubRetry(parts)
  }

  async run(signal: AbortSignal): Promise<string> {
    for (;;) {
      const before = this.#bytes
      try {
        const sha256 = await this.#attempt(signal)
        if (sha256 !== undefined) return sha256
        await this.#discard()
      } catch (error) {
        if (this.#bytes > before) this.#retry.reset()
        await this.#retry.after(error, signal)
      }
    }
  }

  /** Undefined when the file is complete but does not match the hub's digest. */
  async #attempt(signal: AbortSignal): Promise<string | undefined> {
    const { file, partPath, repository } = this.#part
    let hasher = new FileHasher(file)
    this.#bytes = await hashFile(partPath, hasher)
    if (this.#bytes < file.bytes || (file.bytes === 0 && this.#bytes === 0)) {
      using watched = new StallWatch(this.#parts.clock, signal)
      const range = { path: file.path, from: this.#bytes }
      const body = await watched.guard(
        this.#parts.client.openFile(repository, range, watched.signal),
      )
      if (body.from === 0 && this.#bytes > 0) hasher = new FileHasher(file)
      await this.#receive(body.from, watched.watch(body.chunks), hasher)
    }
    if (this.#bytes < file.bytes) throw new RetryableHubError('the connection ended early')
    return this.#bytes === file.bytes ? hasher.finish() : undefined
  }

  async #receive(
    from: number,
    chunks: AsyncIterable<Uint8Array>,
    hasher: FileHasher,
  ): Promise<void> {
    const { file, partPath } = this.#part
    await using handle = await open(partPath, from === 0 ? 'w' : 'a')
    this.#bytes = from
    for await (const chunk of chunks) {
      await handle.appendFile(chunk)
      hasher.update(chunk)
      this.#bytes += chunk.length
      this.#parts.onBytes(Math.min(this.#bytes, file.bytes))
      if (this.#bytes > file.bytes) return
    }
    await handle.sync()
  }

  async #discard(): Promise<void> {
    const { file, partPath } = this.#part
    await rm(partPath, { force: true })
    this.#bytes = 0
    this.#wrongBytes += 1
    this.#parts.onBytes(0)
    const why = `the bytes of ${file.path} do not match the hub's digest`
    if (this.#wrongBytes > WRONG_BYTES_MAX) throw new ServiceError('CORRUPTION', why)
    this.#parts.onRetry(why)
  }
}

/** Aborts its signal when no bytes have arrived for STALL_MS. */
class StallWatch implements Disposable {
  readonly #stalled = new AbortController()
  readonly #stop: () => void
  readonly #caller: AbortSignal
  readonly signal: AbortSignal
  #isIdle = false

  constructor(clock: Clock, caller: AbortSignal) {
    this.#caller = caller
    this.signal = AbortSignal.any([caller, this.#stalled.signal])
    // Two checks within STALL_MS find a stall after STALL_MS at the latest.
    const stop = clock.every(STALL_MS / 2, async () => {
      if (this.#isIdle) this.#stalled.abort()
      this.#isIdle = true
    })
    this.#stop = () => void stop()
  }

  async *watch(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const iterator = chunks[Symbol.asyncIterator]()
    for (;;) {
      const next = await this.guard(iterator.next())
      if (next.done === true) return
      this.#isIdle = false
      yield next.value
    }
  }

  async guard<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      this.#caller.throwIfAborted()
      if (!this.#stalled.signal.aborted) throw error
      throw new RetryableHubError(`no bytes arrived for ${STALL_MS / 1000} seconds`, {
        cause: error,
      })
    }
  }

  [Symbol.dispose](): void {
    this.#stop()
  }
}
