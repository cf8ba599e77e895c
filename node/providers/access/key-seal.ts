// Keys that a client writes into a configuration itself. A configuration lies in the catalog, in etcd and in backups, so
// it keeps them sealed: AES-256-GCM under a key that only the nodes have. Each use opens them.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { Replaceable, type Current } from '../../../lib/replaceable.ts'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Sealed it is still shorter than a text of a configuration may be. */
const TEXT_BYTES_MAX = 2_048

/** Under which secret a text is sealed: the first, another one that is accepted, or none that is known. */
export type SealedUnder = 'first' | 'accepted' | 'none'

/**
 * Seals texts under the first of its secrets, and opens what any of them has sealed.
 *
 * - Equal texts have equal seals under one secret, so that a configuration which is sent again is the same one. The nonce is
 *   a keyed hash of the text, so two texts share none.
 * - `open` and `renew` answer undefined for what another secret sealed, and for what somebody changed.
 * - `renew` answers what `seal` makes of the text inside; so what is sealed under the first secret stays as it is.
 * - Listeners of `onReplaced` hear of other secrets when these are in use.
 */
export class KeySeal {
  readonly #secrets: Current<readonly Uint8Array[]>
  #keys: readonly SealKeys[]

  constructor(secrets: Current<readonly Uint8Array[]>) {
    this.#secrets = secrets
    this.#keys = secrets.value.map(keysOf)
    secrets.onReplaced((replaced) => {
      this.#keys = replaced.map(keysOf)
    })
  }

  onReplaced(listener: () => void): () => void {
    return this.#secrets.onReplaced(listener)
  }

  /** The same seal with other secrets. */
  with(secrets: readonly Uint8Array[]): KeySeal {
    return new KeySeal(new Replaceable(secrets))
  }

  seal(text: string): string {
    if (Buffer.byteLength(text) > TEXT_BYTES_MAX) {
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `api_key: a key has at most ${TEXT_BYTES_MAX} bytes`,
      )
    }
    const { key, nonceKey } = must(this.#keys[0], 'a secret to seal with')
    const hash = createHmac('sha256', nonceKey).update(text).digest()
    const nonce = hash.subarray(0, NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, key, nonce)
    const sealed = [cipher.update(text), cipher.final()]
    return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]).toString('base64url')
  }

  open(sealed: string): string | undefined {
    return this.#opened(sealed)?.text
  }

  sealedUnder(sealed: string): SealedUnder {
    const opened = this.#opened(sealed)
    if (opened === undefined) return 'none'
    return opened.isFirst ? 'first' : 'accepted'
  }

  renew(sealed: string): string | undefined {
    const opened = this.#opened(sealed)
    if (opened === undefined) return undefined
    return opened.isFirst ? sealed : this.seal(opened.text)
  }

  #opened(sealed: string): { readonly text: string; readonly isFirst: boolean } | undefined {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
    for (const [at, { key }] of this.#keys.entries()) {
      const text = openedBy(key, bytes)
      if (text !== undefined) return { text, isFirst: at === 0 }
    }
    return undefined
  }
}

interface SealKeys {
  readonly key: Buffer
  readonly nonceKey: Buffer
}

function keysOf(secret: Uint8Array): SealKeys {
  const derived = (use: string): Buffer =>
    Buffer.from(hkdfSync('sha256', secret, '', `quarry provider keys: ${use}`, KEY_BYTES))
  return { key: derived('seal'), nonceKey: derived('nonce') }
}

function openedBy(key: Buffer, bytes: Buffer): string | undefined {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    const content = bytes.subarray(NONCE_BYTES + TAG_BYTES)
    return Buffer.concat([decipher.update(content), decipher.final()]).toString()
  } catch {
    return undefined // the tag does not fit
  }
}

/** A fresh secret for a store of one machine, as text for its file. */
export function newSealSecret(): string {
  return randomBytes(KEY_BYTES).toString('base64url')
}
