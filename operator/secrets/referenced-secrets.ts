// What is known of the Secrets that people made for a cluster.

import { createHash, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import type { StoreClusterSpec } from '../kinds/cluster/spec.ts'
import type { SecretProblem } from '../machines/observed/kubernetes-view.ts'
import { ETCD_FILES } from '../resources/nodes/node-paths.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import { contentOf, dataOf } from './secret-content.ts'
import type { SecretReference } from './secret-references.ts'

/** The Secrets that were found, by their names. */
export type FoundSecrets = ReadonlyMap<string, StoredObject>

const DIGEST_BYTES = 32
const slowHash = promisify(scrypt)

export function problemsOf(
  references: readonly SecretReference[],
  found: FoundSecrets,
): readonly SecretProblem[] {
  return references
    .filter(({ isOptional }) => !isOptional)
    .flatMap((reference) => problemsOfOne(reference, found.get(reference.name)))
}

function problemsOfOne(
  { field, name, keys }: SecretReference,
  secret: StoredObject | undefined,
): readonly SecretProblem[] {
  if (secret === undefined) {
    const message = `the Secret ${name} does not exist`
    return [{ reason: 'SecretNotFound', field, message }]
  }
  const content = contentOf(secret)
  return keys
    .filter((either) => !either.some((key) => content.has(key)))
    .map((either) => missingKey(field, name, either.join(' or ')))
}

function missingKey(field: string, name: string, key: string): SecretProblem {
  return { reason: 'KeyMissing', field, message: `the Secret ${name} has no key ${key}` }
}

/** What the Secret of an external etcd has for its clients: a certificate, none, or half of one. */
export function etcdCertificateOf(
  { etcd }: StoreClusterSpec,
  found: FoundSecrets,
): { readonly isThere: boolean; readonly problems: readonly SecretProblem[] } {
  const name = etcd?.mode === 'External' ? etcd.tlsSecretRef?.name : undefined
  const content = contentOf(name === undefined ? undefined : found.get(name))
  const keys = [ETCD_FILES.certificate, ETCD_FILES.key]
  const missing = keys.filter((key) => !content.has(key))
  if (name === undefined || missing.length === keys.length) return { isThere: false, problems: [] }
  const problems = missing.map((key) => missingKey('spec.etcd.tlsSecretRef', name, key))
  return { isThere: problems.length === 0, problems }
}

/**
 * A digest over the values that nodes read only at their start. All who may see pods see it, and not what it is made of:
 * it takes as long to try one password as scrypt does.
 */
export async function startHash(
  references: readonly SecretReference[],
  found: FoundSecrets,
  salt: string,
): Promise<string> {
  const values = [...new Set(references.flatMap((one) => valuesAtStart(one, found)))].toSorted()
  if (values.length === 0) return 'none'
  const content = createHash('sha256').update(JSON.stringify(values)).digest()
  const digest = await slowHash(content, salt, DIGEST_BYTES)
  if (!Buffer.isBuffer(digest)) throw new TypeError('scrypt answers bytes')
  return digest.toString('hex')
}

/** A value that is missing differs from an empty one: there is no variable then. */
function valuesAtStart({ name, atStart }: SecretReference, found: FoundSecrets): string[] {
  const secret = found.get(name)
  const data = dataOf(secret)
  const keys = atStart === 'all' ? Object.keys(data) : atStart
  const values = keys.map((key) => JSON.stringify([name, key, data[key] ?? null]))
  return atStart === 'all' ? [JSON.stringify([name, secret !== undefined]), ...values] : values
}
