// Keys that a client writes into a configuration itself. A configuration lies in the catalog, in etcd and in backups, so
// it keeps them sealed: AES-256-GCM under a key that only the nodes have. Each use opens them.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { ServiceError } from '../../../lib/errors.ts'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Sealed it is still shorter than a text of a configuration may be. */
const TEXT_BYTES_MAX = 2_048

/**
 * Seals texts under one key.
 *
 * - Equal texts have equal seals, so that a configuration which is sent again is the same one. The nonce is a keyed hash of
 *   the text, so two texts share none.
 * - `open` answers undefined for what another key sealed, and for what somebody changed.
 */
export class KeySeal {
  readonly #key: Buffer
  readonly #nonceKey: Buffer

  constructor(secret: Uint8Array) {
    const derived = (use: string): Buffer =>
      Buffer.from(hkdfSync('sha256', secret, '', `quarry provider keys: ${use}`, KEY_BYTES))
    this.#key = derived('seal')
    this.#nonceKey = derived('nonce')
  }

  seal(text: string): string {
    if (Buffer.byteLength(text) > TEXT_BYTES_MAX) {
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `api_key: a key has at most ${TEXT_BYTES_MAX} bytes`,
      )
    }
    const hash = createHmac('sha256', this.#nonceKey).update(text).digest()
    const nonce = hash.subarray(0, NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce)
    const sealed = [cipher.update(text), cipher.final()]
    return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]).toString('base64url')
  }

  open(sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES))
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    try {
      const content = bytes.subarray(NONCE_BYTES + TAG_BYTES)
      return Buffer.concat([decipher.update(content), decipher.final()]).toString()
    } catch {
      return undefined // the tag does not fit
    }
  }
}

/** A fresh secret for a store of one machine, as text for its file. */
export function newSealSecret(): string {
  return randomBytes(KEY_BYTES).toString('base64url')
}
