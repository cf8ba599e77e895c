import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { isMissing } from '../model-folders.ts'
import type { HubFile } from './hub-listing.ts'

/** Hashes a file's bytes while they arrive, for the hub's digest and for the manifest's SHA-256. */
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

  /** Called once, at the end. The SHA-256 in hex; undefined if the bytes differ from the hub's digest. */
  finish(): string | undefined {
    const sha256 = this.#sha256.digest('hex')
    const found = this.#gitBlob?.digest('hex') ?? sha256
    return found === this.#expected ? sha256 : undefined
  }
}

/** The SHA-256 of a complete file with the hub's digest; undefined for any other or missing file. */
export async function verifyFile(path: string, file: HubFile): Promise<string | undefined> {
  const hasher = new FileHasher(file)
  const bytes = await hashFile(path, hasher)
  return bytes === file.bytes ? hasher.finish() : undefined
}

/** Hashes a file and returns its number of bytes; 0 for a missing file. */
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
