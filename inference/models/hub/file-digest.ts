import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { isMissing } from '../model-folders.ts'
import type { HubFile } from './hub-listing.ts'

/** Hashes a file's bytes as they come, for the hub's digest and for the manifest's SHA-256. */
export class FileHasher {
  readonly #sha256 = createHash('sha256')
  readonly #gitBlob: Hash | undefined
  readonly #expected: string

  constructor({ bytes, digest }: HubFile) {
    this.#expected = digest.hex
    this.#gitBlob =
      digest.kind === 'git-blob' ? createHash('sha1').update(`blob ${bytes}\0`) : undefined
  }

  update(chunk: Uint8Array): void {
    this.#sha256.update(chunk)
    this.#gitBlob?.update(chunk)
  }

  /** Once, at the end. The SHA-256 in hex, or undefined when the bytes are not those of the hub. */
  finish(): string | undefined {
    const sha256 = this.#sha256.digest('hex')
    const found = this.#gitBlob?.digest('hex') ?? sha256
    return found === this.#expected ? sha256 : undefined
  }
}

/** The SHA-256 of the file at `path` if it is whole and the hub's; undefined if not, or absent. */
export async function verifyFile(path: string, file: HubFile): Promise<string | undefined> {
  const hasher = new FileHasher(file)
  const bytes = await hashFile(path, hasher)
  return bytes === file.bytes ? hasher.finish() : undefined
}

/** How many bytes there were; 0 for no file. */
export async function hashFile(path: string, hasher: FileHasher): Promise<number> {
  let bytes = 0
  try {
    for await (const chunk of createReadStream(path)) {
      hasher.update(chunk)
      bytes += chunk.length
    }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  return bytes
}
