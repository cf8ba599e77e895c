import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { KeySource } from './etcd-certificates.ts'

const SERIAL_NUMBER_BYTES = 16

/** Keys of this process's cryptography. A P-256 pair takes well under a millisecond. */
export const systemKeys: KeySource = {
  next: () => ({
    ...generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    serialNumber: randomBytes(SERIAL_NUMBER_BYTES),
  }),
}
