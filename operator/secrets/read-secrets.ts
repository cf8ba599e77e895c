// What a pass reads of Secrets. They are read by name and never listed or kept: the operator may read those that a spec
// names, and holds none longer than a pass.

import { createHash } from 'node:crypto'
import { dueEtcdCertificates, trustedOf } from '../certificates/etcd-certificates.ts'
import { TRUSTED_KEY } from '../resources/access/generated-secrets.ts'
import { etcdCertificateNames, KEYS } from '../resources/parts/names.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import type { StoreClusterStatus } from '../kinds/cluster/status.ts'
import type { SecretProblem } from '../machines/observed/kubernetes-view.ts'
import type { KubernetesApi } from '../runtime/api/kubernetes-api.ts'
import {
  etcdCertificatesOf,
  etcdTlsOf,
  hasMetadata,
  isOwn,
  ownSecrets,
  secretId,
} from './own-secrets.ts'
import type { ClusterOfSecrets, OwnMetadata, OwnSecrets } from './own-secrets.ts'
import { etcdCertificateOf, problemsOf, startHash } from './referenced-secrets.ts'
import type { FoundSecrets } from './referenced-secrets.ts'
import { contentOf, secretRef, textOf } from './secret-content.ts'
import type { SecretContent } from './secret-content.ts'
import { secretReferences } from './secret-references.ts'
import type { SecretsView } from './secrets-view.ts'

const READS_AT_ONCE = 8

/** A cluster, and what is remembered of it. */
export interface ReadCluster extends ClusterOfSecrets {
  readonly status?: StoreClusterStatus | undefined
}

/** Rejects as `get` does. */
export async function readSecrets(
  api: KubernetesApi,
  cluster: ReadCluster,
  nowMs: number,
  signal: AbortSignal,
): Promise<SecretsView> {
  const references = secretReferences(cluster.spec)
  const own = ownSecrets(cluster)
  const needed = [own.cluster, own.etcd?.authority, own.etcd?.certificates].filter(
    (one) => one !== undefined,
  )
  const names = new Set([...references, ...needed].map(({ name }) => name))
  const found = await readAll(api, { namespace: cluster.namespace, names: [...names] }, signal)
  const generated = new GeneratedSecrets(cluster, found)
  const etcd = generated.etcd(own.etcd, nowMs)
  const lost = hasStarted(cluster) ? generated.lossOfCluster(own.cluster) : []
  const due = new Set([...generated.dueOfCluster(own.cluster), ...etcd.due])
  const certificate = etcdCertificateOf(cluster.spec, found)
  return {
    problems: [...lost, ...problemsOf(references, found), ...certificate.problems],
    outdated: needed
      .filter((one) => !generated.isForeign(one) && (due.has(one) || !generated.isKept(one)))
      .filter((one) => one !== own.cluster || lost.length === 0)
      .map(secretId),
    foreign: needed.filter((one) => generated.isForeign(one)).map(secretId),
    secretHash: await startHash(references, found, cluster.uid),
    authorityHash: etcd.authorityHash,
    hasEtcdCertificate: certificate.isThere,
    etcdTls: etcd.tls,
    ...(etcd.nextAtMs === undefined ? {} : { nextRenewalMs: etcd.nextAtMs }),
  }
}

/** Nodes were asked for once, and may run. */
function hasStarted({ status }: ReadCluster): boolean {
  return (status?.nodes?.desired ?? 0) > 0
}

async function readAll(
  api: KubernetesApi,
  { namespace, names }: { readonly namespace: string; readonly names: readonly string[] },
  signal: AbortSignal,
): Promise<FoundSecrets> {
  const found = new Map<string, StoredObject>()
  for (let at = 0; at < names.length; at += READS_AT_ONCE) {
    const reading = names.slice(at, at + READS_AT_ONCE).map(async (name) => {
      const secret = await api.get(secretRef(namespace, name), signal)
      if (secret !== undefined) found.set(name, secret)
    })
    await Promise.all(reading)
  }
  return found
}

interface EtcdFacts {
  readonly due: readonly OwnMetadata[]
  readonly authorityHash: string
  readonly tls: SecretsView['etcdTls']
  readonly nextAtMs: number | undefined
}

/** The Secrets of the operator's making, as they were found. */
class GeneratedSecrets {
  readonly #cluster: ClusterOfSecrets
  readonly #found: FoundSecrets

  constructor(cluster: ClusterOfSecrets, found: FoundSecrets) {
    this.#cluster = cluster
    this.#found = found
  }

  isForeign(own: OwnMetadata): boolean {
    const secret = this.#found.get(own.name)
    return secret !== undefined && !isOwn(secret, own, this.#cluster.uid)
  }

  /** It is there, with the labels and for the time that the spec asks for. */
  isKept(own: OwnMetadata): boolean {
    const secret = this.#found.get(own.name)
    return secret !== undefined && hasMetadata(secret, own, this.#cluster.uid)
  }

  dueOfCluster(own: OwnSecrets['cluster']): readonly OwnMetadata[] {
    if (own === undefined) return []
    return textOf(this.#contentOf(own), KEYS.clusterSecret) === '' ? [own] : []
  }

  /**
   * Nodes that run show each other the secret that they have started with, and their files still have it until another
   * one is made. One that started with another would be a stranger to them.
   */
  lossOfCluster(own: OwnSecrets['cluster']): readonly SecretProblem[] {
    if (own === undefined || this.isForeign(own) || this.dueOfCluster(own).length === 0) return []
    const isGone = !this.#found.has(own.name)
    const reason = isGone ? 'SecretNotFound' : 'KeyMissing'
    const what = isGone
      ? `the Secret ${own.name}`
      : `${KEYS.clusterSecret} of the Secret ${own.name}`
    const message = `${what} is gone, and nodes have started with it: put it back as it was`
    return [{ reason, field: 'metadata.name', message }]
  }

  etcd(own: OwnSecrets['etcd'], nowMs: number): EtcdFacts {
    if (own === undefined) return NO_ETCD
    const shown = this.#contentOf(own.certificates)
    const current = etcdCertificatesOf(this.#contentOf(own.authority), shown)
    const names = etcdCertificateNames(this.#cluster)
    const due = dueEtcdCertificates(current, { names, nowMs })
    const trusted = textOf(shown, TRUSTED_KEY)
    const wished = trustedOf(current).join('')
    const isShownDue = due.authorities || due.others || trusted !== wished
    return {
      due: [...(due.authorities ? [own.authority] : []), ...(isShownDue ? [own.certificates] : [])],
      authorityHash: digestOf(trusted === '' ? wished : trusted),
      tls: etcdTlsOf(shown),
      nextAtMs: due.nextAtMs,
    }
  }

  #contentOf(own: OwnMetadata): SecretContent {
    return this.isForeign(own) ? new Map() : contentOf(this.#found.get(own.name))
  }
}

/** Authorities are certificates, which everybody may see. */
function digestOf(certificates: string): string {
  return createHash('sha256').update(certificates).digest('hex')
}

const NO_ETCD: EtcdFacts = {
  due: [],
  authorityHash: digestOf(''),
  tls: undefined,
  nextAtMs: undefined,
}
