// Keys and serial numbers that are the same in every run: those of a count.

import { createECDH, createHash, createPrivateKey, createPublicKey } from 'node:crypto'
import type { KeySource } from '../../../operator/certificates/etcd-certificates.ts'

/** The first bytes of every P-256 key in the form of RFC 5915, and those between its number and its point. */
const KEY_HEAD = Buffer.from('30770201010420', 'hex')
const KEY_MIDDLE = Buffer.from('a00a06082a8648ce3d030107a144034200', 'hex')

/** Guards nothing but tests. */
export function countedKeys(from = 1): KeySource {
  let count = from
  return {
    next: () => {
      const digest = createHash('sha256').update(`key ${count++}`).digest()
      const curve = createECDH('prime256v1')
      curve.setPrivateKey(digest)
      const der = Buffer.concat([KEY_HEAD, digest, KEY_MIDDLE, curve.getPublicKey()])
      const privateKey = createPrivateKey({ key: der, format: 'der', type: 'sec1' })
      const serialNumber = createHash('sha256').update(`number ${count}`).digest().subarray(0, 16)
      return { privateKey, publicKey: createPublicKey(privateKey), serialNumber }
    },
  }
}
