// The Secrets whose content the operator makes: which a cluster has, whose one is that has the name, and what is in them.

import { isPair } from '../certificates/etcd-certificates.ts'
import type { EtcdCertificates, KeyAndCertificate } from '../certificates/etcd-certificates.ts'
import {
  authorityPrefix,
  pairKeys,
  secretLife,
  TRUSTED_KEY,
} from '../resources/access/generated-secrets.ts'
import type { ClusterInput } from '../resources/parts/cluster-input.ts'
import { metadataOf } from '../resources/parts/metadata.ts'
import { objectNames } from '../resources/parts/names.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import type { SecretContent } from './secret-content.ts'
import { textOf } from './secret-content.ts'
import type { EtcdTlsFiles } from './secrets-view.ts'

/** A cluster and its spec. */
export type ClusterOfSecrets = ClusterInput['cluster']

/** The metadata that a Secret of the cluster is to have. */
export type OwnMetadata = ReturnType<typeof metadataOf>

/** The Secrets that a cluster needs. */
export interface OwnSecrets {
  /** `undefined` in SingleNode: a node that is alone proves nothing to anybody. */
  readonly cluster: OwnMetadata | undefined
  /** `undefined` without an etcd of its own. */
  readonly etcd: { readonly authority: OwnMetadata; readonly certificates: OwnMetadata } | undefined
}

export function ownSecrets(cluster: ClusterOfSecrets): OwnSecrets {
  const { mode, etcd } = cluster.spec
  const { secret, etcdAuthority, etcdCertificates } = objectNames(cluster.name)
  const life = secretLife(cluster.spec)
  const isAlone = mode === 'SingleNode'
  return {
    cluster: isAlone ? undefined : metadataOf(cluster, secret, { life }),
    etcd:
      isAlone || etcd?.mode === 'External'
        ? undefined
        : {
            authority: metadataOf(cluster, etcdAuthority, { component: 'etcd', life }),
            certificates: metadataOf(cluster, etcdCertificates, { component: 'etcd' }),
          },
  }
}

/** As steps and views name a Secret. */
export function secretId({ name }: { readonly name: string }): string {
  return `Secret/${name}`
}

/**
 * Whether the cluster may write the Secret: it owns it, or nobody does and it has our labels, as one has that an earlier
 * cluster of the name has left. One that is on its way out is nobody's any more.
 */
export function isOwn({ metadata }: StoredObject, own: OwnMetadata, uid: string): boolean {
  const { ownerReferences = [], labels = {}, deletionTimestamp } = metadata
  if (deletionTimestamp !== undefined) return false
  const owner = ownerReferences.find(({ controller }) => controller === true)
  return owner === undefined ? holds(labels, own.labels) : owner.uid === uid
}

/** Whether its labels are ours, and it lives as long as the spec says. */
export function hasMetadata({ metadata }: StoredObject, own: OwnMetadata, uid: string): boolean {
  const { ownerReferences = [], labels = {} } = metadata
  const isOwned = ownerReferences.some((owner) => owner.uid === uid)
  return holds(labels, own.labels) && isOwned === (own.ownerReferences !== undefined)
}

type Texts = Readonly<Record<string, string>>

function holds(live: Texts, wished: Texts): boolean {
  return Object.entries(wished).every(([name, value]) => live[name] === value)
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
/** The operator writes two authorities at most, while the second is new; a reader accepts eight. */
const AUTHORITIES_MAX = 8

/** All that both Secrets of an own etcd have. What is missing is empty; authorities whose keys are lost are former ones. */
export function etcdCertificatesOf(
  authority: SecretContent,
  shown: SecretContent,
): EtcdCertificates {
  const authorities = Array.from({ length: AUTHORITIES_MAX }, (_, at) =>
    pairOf(authority, authorityPrefix(at)),
  ).filter(isPair)
  const known = new Set(authorities.map(({ certificate }) => certificate))
  const trusted = textOf(shown, TRUSTED_KEY).match(CERTIFICATE) ?? []
  return {
    authorities,
    former: trusted.map((certificate) => `${certificate}\n`).filter((one) => !known.has(one)),
    server: pairOf(shown, 'server'),
    peer: pairOf(shown, 'peer'),
    client: pairOf(shown, 'client'),
  }
}

function pairOf(content: SecretContent, prefix: string): KeyAndCertificate {
  const { certificate, key } = pairKeys(prefix)
  return { certificate: textOf(content, certificate), key: textOf(content, key) }
}

/** `undefined` unless there is a pair, and an authority. */
export function etcdTlsOf(shown: SecretContent): EtcdTlsFiles | undefined {
  const client = pairOf(shown, 'client')
  const trusted = textOf(shown, TRUSTED_KEY)
  if (!isPair(client) || trusted.match(CERTIFICATE) === null) return undefined
  return {
    ca: Buffer.from(trusted),
    cert: Buffer.from(client.certificate),
    key: Buffer.from(client.key),
  }
}
