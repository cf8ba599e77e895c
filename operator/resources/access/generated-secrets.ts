// Secrets whose content the operator makes, outside of this folder. What guards data outlives the cluster with it: a
// cluster of the same name finds its volumes, and opens them with the secret that they were written with.

import type { V1Secret } from '@kubernetes/client-node'
import type { StoreClusterSpec } from '../../kinds/cluster/spec.ts'
import { sorted } from '../parts/built.ts'
import type { Built } from '../parts/built.ts'
import type { ClusterInput } from '../parts/cluster-input.ts'
import { metadataOf } from '../parts/metadata.ts'
import type { MetadataOptions } from '../parts/metadata.ts'
import { KEYS, objectNames } from '../parts/names.ts'

/** By which nodes prove to each other that they belong together, and under which they seal keys of models. */
export function buildClusterSecret(
  input: ClusterInput,
  content: { readonly secret: string; readonly accepted?: string | undefined },
) {
  const { secret, accepted } = content
  const data = {
    [KEYS.clusterSecret]: secret,
    ...(accepted === undefined ? {} : { [KEYS.acceptedSecret]: accepted }),
  }
  const name = objectNames(input.cluster.name).secret
  return buildSecret(input, name, { data, life: secretLife(input.cluster.spec) })
}

/** A private key and its certificate, in PEM. */
export interface PemPair {
  readonly key: string
  readonly certificate: string
}

/** The authorities of an own etcd, oldest first, with their keys. Only the operator reads it. */
export function buildEtcdAuthoritySecret(input: ClusterInput, authorities: readonly PemPair[]) {
  const data = Object.fromEntries(
    authorities.flatMap((authority, at) => pairEntries(authorityPrefix(at), authority)),
  )
  const name = objectNames(input.cluster.name).etcdAuthority
  return buildSecret(input, name, { data, component: 'etcd', life: secretLife(input.cluster.spec) })
}

const AUTHORITY_PREFIXES = ['ca', 'next']

/** With what the keys of one authority begin. */
export function authorityPrefix(at: number): string {
  return AUTHORITY_PREFIXES[at] ?? `${at}`
}

/** Under which keys a Secret has a private key and its certificate. */
export function pairKeys(prefix: string): { readonly certificate: string; readonly key: string } {
  return { certificate: `${prefix}.crt`, key: `${prefix}.key` }
}

function pairEntries(prefix: string, { key, certificate }: PemPair) {
  const keys = pairKeys(prefix)
  return [
    [keys.certificate, certificate],
    [keys.key, key],
  ] as const
}

/** Under which key a Secret has the certificates of all authorities that are trusted. */
export const TRUSTED_KEY = 'ca.crt'

/** What members of etcd and their clients show, and whom they trust. */
export interface EtcdCertificatePairs {
  readonly authorities: readonly PemPair[]
  readonly server: PemPair
  readonly peer: PemPair
  readonly client: PemPair
}

/** Made anew from the authority whenever it is missing, so it belongs to the cluster alone. */
export function buildEtcdCertificatesSecret(
  input: ClusterInput,
  { authorities, server, peer, client }: EtcdCertificatePairs,
) {
  const data = {
    [TRUSTED_KEY]: authorities.map(({ certificate }) => certificate).join(''),
    ...Object.fromEntries([
      ...pairEntries('client', client),
      ...pairEntries('peer', peer),
      ...pairEntries('server', server),
    ]),
  }
  const name = objectNames(input.cluster.name).etcdCertificates
  return buildSecret(input, name, { data, component: 'etcd', life: 'owned' })
}

/** Whether Secrets that guard data are owned by the cluster, or outlive it as its volumes do. */
export function secretLife({
  persistentVolumeClaimRetentionPolicy: { whenDeleted },
}: StoreClusterSpec): 'owned' | 'kept' {
  return whenDeleted === 'Delete' ? 'owned' : 'kept'
}

interface SecretOptions extends MetadataOptions {
  readonly data: Readonly<Record<string, string>>
}

function buildSecret({ cluster }: ClusterInput, name: string, { data, ...rest }: SecretOptions) {
  const encoded = Object.entries(data).map(([key, text]) => [
    key,
    Buffer.from(text, 'utf8').toString('base64'),
  ])
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadataOf(cluster, name, rest),
    data: sorted(Object.fromEntries(encoded)),
    type: 'Opaque',
  } satisfies Built<V1Secret>
}
