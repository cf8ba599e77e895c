// Writes the files of a snapshot, in the order of its header.

import { createHash } from 'node:crypto'
import { mkdir, open, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { ServiceError } from '../../../lib/errors.ts'
import { syncDirectory } from '../../storage/file-replacement.ts'
import type { SnapshotFile } from './snapshot-messages.ts'

/** The files to come, and where they go. */
export interface ArrivingFilesOptions {
  readonly root: string
  readonly files: readonly SnapshotFile[]
  /** Throws DISK_FULL when the disk has no room for `bytes` more. */
  readonly admit: (bytes: number) => void
}

/** Takes the bytes of one file after another. CORRUPTION for bytes that the header does not announce. */
export class ArrivingFiles {
  readonly #with: ArrivingFilesOptions
  readonly #hash = createHash('sha256')
  /** The file that is written or comes next, and the bytes of it that are here. */
  #number = 0
  #bytes = 0
  #handle: FileHandle | undefined

  constructor(options: ArrivingFilesOptions) {
    this.#with = options
  }

  /** Makes the directories. They must not exist. */
  async begin(): Promise<void> {
    await mkdir(this.#with.root, { recursive: true, mode: 0o700 })
    for (const directory of this.#directories) await mkdir(directory, { mode: 0o700 })
  }

  async take(number: number, bytes: Buffer): Promise<void> {
    await this.#endFilesBefore(number)
    const announced = this.#with.files[number]
    if (number !== this.#number || announced === undefined) {
      throw brokenSnapshot(`file ${number} is out of order`)
    }
    if (this.#bytes + bytes.length > announced.bytes) {
      throw brokenSnapshot(`file ${number} is too long`)
    }
    this.#with.admit(bytes.length)
    this.#handle ??= await this.#create()
    await this.#handle.appendFile(bytes)
    this.#hash.update(bytes)
    this.#bytes += bytes.length
  }

  /** All files are whole and synced. CORRUPTION if one is not, or if their bytes have another hash. */
  async finish(hash: Buffer): Promise<void> {
    await this.#endFilesBefore(this.#with.files.length)
    if (!this.#hash.digest().equals(hash)) throw brokenSnapshot('the files differ')
    for (const directory of this.#directories) await syncDirectory(directory)
    await syncDirectory(this.#with.root)
  }

  async close(): Promise<void> {
    await this.#handle?.close()
    this.#handle = undefined
  }

  get #directories(): ReadonlySet<string> {
    const { root, files } = this.#with
    return new Set(files.map(({ directory }) => path.join(root, directory)))
  }

  async #endFilesBefore(number: number): Promise<void> {
    while (this.#number < Math.min(number, this.#with.files.length)) {
      if (this.#bytes !== this.#with.files[this.#number]?.bytes) {
        throw brokenSnapshot(`file ${this.#number} has another length`)
      }
      const handle = this.#handle ?? (await this.#create()) // an empty file has no page
      this.#handle = handle
      await handle.sync()
      await this.close()
      this.#number += 1
      this.#bytes = 0
    }
  }

  async #create(): Promise<FileHandle> {
    const { root, files } = this.#with
    const { directory, name } = files[this.#number] ?? { directory: '', name: '' }
    return open(path.join(root, directory, name), 'wx', 0o600)
  }
}

/** The refusal of a snapshot of which something is missing or wrong. */
export function brokenSnapshot(what: string): ServiceError {
  return new ServiceError('CORRUPTION', `a snapshot is not whole: ${what}; begin with another one`)
}
