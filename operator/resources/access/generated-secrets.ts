// Secrets whose content the operator makes, outside of this folder. What guards data outlives the cluster with it: a
// cluster of the same name finds its volumes, and opens them with the secret that they were written with.

import type { V1Secret } from '@kubernetes/client-node'
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
  return buildSecret(input, name, { data, life: lifeOf(input) })
}

/** A private key and its certificate, in PEM. */
export interface PemPair {
  readonly key: string
  readonly certificate: string
}

/** The authorities of an own etcd, oldest first, with their keys. Nobody but the operator reads it. */
export function buildEtcdAuthoritySecret(input: ClusterInput, authorities: readonly PemPair[]) {
  const data = Object.fromEntries(
    authorities.flatMap(({ key, certificate }, at) => [
      [`${AUTHORITY_PREFIXES[at] ?? at}.crt`, certificate],
      [`${AUTHORITY_PREFIXES[at] ?? at}.key`, key],
    ]),
  )
  const name = objectNames(input.cluster.name).etcdAuthority
  return buildSecret(input, name, { data, component: 'etcd', life: lifeOf(input) })
}

/** The parts of its keys, in the order of the authorities. */
const AUTHORITY_PREFIXES = ['ca', 'next']

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
    'ca.crt': authorities.map(({ certificate }) => certificate).join(''),
    'client.crt': client.certificate,
    'client.key': client.key,
    'peer.crt': peer.certificate,
    'peer.key': peer.key,
    'server.crt': server.certificate,
    'server.key': server.key,
  }
  const name = objectNames(input.cluster.name).etcdCertificates
  return buildSecret(input, name, { data, component: 'etcd', life: 'owned' })
}

function lifeOf({ cluster: { spec } }: ClusterInput): 'owned' | 'kept' {
  const { whenDeleted } = spec.persistentVolumeClaimRetentionPolicy
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
