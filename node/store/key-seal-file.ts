import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Replaceable } from '../../lib/replaceable.ts'
import { KeySeal, newSealSecret } from '../providers/access/key-seal.ts'
import { replaceFile } from '../storage/file-replacement.ts'

const FILE = 'provider-keys.secret'

/** What seals the keys of a store of one machine: by a secret in its directory that only its user can read. */
export async function openKeySeal(directory: string): Promise<KeySeal> {
  const file = path.join(directory, FILE)
  const known = await readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  })
  if (known !== undefined) return sealBy(known)
  const secret = newSealSecret()
  await replaceFile(file, secret)
  return sealBy(secret)
}

function sealBy(secret: string): KeySeal {
  return new KeySeal(new Replaceable([Buffer.from(secret, 'base64url')]))
}
