// Where secrets come from: files of a directory, one for each secret, as Kubernetes mounts them. They are read at each
// use, so that a rotated secret needs no restart.

import { open } from 'node:fs/promises'
import path from 'node:path'
import { ServiceError } from '../../../lib/errors.ts'

const SECRET_BYTES_MAX = 64 * 1024

/**
 * Secrets by name. Names have letters, digits, `.`, `_` and `-`, as references allow them.
 *
 * Contract: `find` resolves to the current value, to undefined if there is none, and rejects with
 * UNAVAILABLE if it cannot be read. No error holds a value.
 */
export interface SecretSource {
  find(name: string): Promise<string | undefined>
}

/** The secrets of a node. Without a directory there are none. */
export class NodeSecrets implements SecretSource {
  readonly #directory: string | undefined

  constructor(directory: string | undefined) {
    this.#directory = directory
  }

  async find(name: string): Promise<string | undefined> {
    return this.#directory === undefined ? undefined : read(this.#directory, name)
  }
}

/** The file without the line end that editors add. */
async function read(directory: string, name: string): Promise<string | undefined> {
  try {
    await using file = await open(path.join(directory, name), 'r')
    const buffer = Buffer.alloc(SECRET_BYTES_MAX + 1)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    if (bytesRead <= SECRET_BYTES_MAX) {
      return buffer.toString('utf8', 0, bytesRead).replace(/\r?\n$/, '')
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT') return undefined
    throw new ServiceError('UNAVAILABLE', `secret ${name} cannot be read (${String(code)})`)
  }
  const message = `secret ${name} has more than ${SECRET_BYTES_MAX} bytes`
  throw new ServiceError('UNAVAILABLE', message)
}
