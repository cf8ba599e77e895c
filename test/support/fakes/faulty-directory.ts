// The files of a simulated disk, as the journal uses them. See faulty-disk.ts.
//
// Invariants:
//   FD1  A name is durable only as of the directory's last sync, whatever is in the file.
//   FD2  A write that power interrupts leaves any subset of its sectors; one that completed, all.
//   FD3  A failed write leaves any subset of its sectors, and nobody knows which.

import { ServiceError } from '../../../lib/errors.ts'
import type { Random } from '../../../lib/random.ts'
import type { JournalDirectory, SegmentFile } from '../../../node/journal/journal-directory.ts'

const SECTOR_BYTES = 512

interface FileImage {
  content: Buffer
}

export interface FaultyDirectoryOptions {
  readonly random: Random
  /** Runs a write in its turn; `tear` leaves a part of it in a directory, when power fails meanwhile. */
  readonly perform: (apply: () => void, tear: (directory: FaultyDirectory) => void) => Promise<void>
  readonly onSynced: () => void
  /** A check that power has been on since now. */
  readonly power: () => () => void
  readonly hasRoom: () => boolean
}

export class FaultyDirectory implements JournalDirectory {
  readonly #with: FaultyDirectoryOptions
  #names = new Map<string, FileImage>()
  #durableNames = new Map<string, FileImage>()
  #failNextWrite = false

  constructor(options: FaultyDirectoryOptions) {
    this.#with = options
  }

  get names(): readonly string[] {
    return [...this.#names.keys()]
  }

  async list(): Promise<readonly string[]> {
    return this.names
  }

  async open(name: string): Promise<SegmentFile> {
    const file = this.#names.get(name)
    if (file === undefined) throw new RangeError(`no file "${name}"`)
    const assertPower = this.#with.power()
    assertPower()
    return new FaultyFile(file, {
      assertPower,
      write: (bytes, position) => this.#write(name, { bytes, position }),
    })
  }

  async allocate(name: string, bytes: number): Promise<void> {
    await this.#change(() => {
      if (!this.#with.hasRoom()) {
        throw new ServiceError('DISK_FULL', 'the simulated disk has no room for a file')
      }
      this.#names.set(name, { content: Buffer.alloc(bytes) })
    })
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#change(() => {
      const file = this.#names.get(from)
      if (file === undefined) throw new RangeError(`no file "${from}"`)
      this.#names.delete(from)
      this.#names.set(to, file)
    })
  }

  async remove(name: string): Promise<void> {
    await this.#change(() => this.#names.delete(name))
  }

  async sync(): Promise<void> {
    await this.#change(() => {
      this.#durableNames = new Map(this.#names)
    })
    this.#with.onSynced()
  }

  /** Names change at once for those who look, durably with the next `sync`. */
  async #change(apply: () => void): Promise<void> {
    this.#with.power()()
    apply()
  }

  /** The next write fails, and leaves what FD3 says. */
  failNextWrite(fails = true): void {
    this.#failNextWrite = fails
  }

  /** Turns one bit of a file around, on the disk. */
  flipBit(name: string, offset: number): void {
    const file = this.#names.get(name)
    if (file === undefined) throw new RangeError(`no file "${name}"`)
    file.content[offset] = (file.content[offset] ?? 0) ^ 1
  }

  contentOf(name: string): Buffer {
    const file = this.#names.get(name)
    if (file === undefined) throw new RangeError(`no file "${name}"`)
    return file.content
  }

  /** FD1: what the directory's last sync knew is there again. */
  losePower(): void {
    this.#names = new Map(this.#durableNames)
  }

  /** The files of which a power failure would leave the names, as they are. */
  durableContents(): ReadonlyMap<string, Buffer> {
    const files = [...this.#durableNames].map(
      ([name, { content }]) => [name, Buffer.from(content)] as const,
    )
    return new Map(files)
  }

  restoreContents(files: ReadonlyMap<string, Buffer>): void {
    this.#durableNames = new Map(
      [...files].map(([name, content]) => [name, { content: Buffer.from(content) }]),
    )
    this.losePower()
  }

  copyFrom(other: FaultyDirectory): void {
    this.#durableNames = new Map(
      [...other.#durableNames].map(([name, { content }]) => [
        name,
        { content: Buffer.from(content) },
      ]),
    )
    this.losePower()
  }

  async #write(name: string, write: FileWrite): Promise<void> {
    const file = this.#names.get(name)
    if (file === undefined) throw new RangeError(`no file "${name}"`)
    if (this.#failNextWrite) {
      this.#failNextWrite = false
      this.#tear(file, write)
      throw new ServiceError('UNAVAILABLE', 'the simulated disk failed: EIO')
    }
    await this.#with.perform(
      () => put(file, write.bytes, write.position),
      (directory) => directory.#tear(directory.#names.get(name), write),
    )
  }

  /** FD2: by sectors of the file, not of the write. */
  #tear(file: FileImage | undefined, { bytes, position }: FileWrite): void {
    if (file === undefined) return
    let at = 0
    while (at < bytes.length) {
      const end = Math.min(bytes.length, at + SECTOR_BYTES - ((position + at) % SECTOR_BYTES))
      if (this.#with.random() < 0.5) put(file, bytes.subarray(at, end), position + at)
      at = end
    }
  }
}

interface FileWrite {
  readonly bytes: Buffer
  readonly position: number
}

function put(file: FileImage, bytes: Buffer, position: number): void {
  const end = position + bytes.length
  if (end > file.content.length) {
    file.content = Buffer.concat([file.content, Buffer.alloc(end - file.content.length)])
  }
  bytes.copy(file.content, position)
}

interface FileAccess {
  assertPower(): void
  write(bytes: Buffer, position: number): Promise<void>
}

class FaultyFile implements SegmentFile {
  readonly #file: FileImage
  readonly #access: FileAccess
  #isClosed = false

  constructor(file: FileImage, access: FileAccess) {
    this.#file = file
    this.#access = access
  }

  async write(parts: readonly Uint8Array[], position: number): Promise<void> {
    this.#assertUsable()
    await this.#access.write(Buffer.concat(parts), position)
  }

  async read(position: number, length: number): Promise<Buffer> {
    this.#assertUsable()
    return Buffer.from(this.#file.content.subarray(position, position + length))
  }

  async size(): Promise<number> {
    this.#assertUsable()
    return this.#file.content.length
  }

  /** FD2: what completed is durable. */
  async sync(): Promise<void> {
    this.#assertUsable()
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }

  #assertUsable(): void {
    if (this.#isClosed) throw new ServiceError('UNAVAILABLE', 'the file is closed')
    this.#access.assertPower()
  }
}
