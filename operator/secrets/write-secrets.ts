// Makes and renews the Secrets whose content is the operator's own.
//
// Invariants:
//   SW1  A cluster secret that is there is never replaced, nor is one that nodes have started with: they would be strangers
//       to those that start with another one, and could not open the keys that they have sealed.
//   SW2  The authorities are written before what they sign, so that no certificate is of an authority that is lost.
//   SW3  Nothing is written over a version that was not read, nor over a Secret that is not the cluster's.
//   SW4  No refusal tells what would have been written, or what is there.

import { renewEtcdCertificates } from '../certificates/etcd-certificates.ts'
import type { KeySource } from '../certificates/etcd-certificates.ts'
import {
  buildClusterSecret,
  buildEtcdAuthoritySecret,
  buildEtcdCertificatesSecret,
} from '../resources/access/generated-secrets.ts'
import type { ClusterInput } from '../resources/parts/cluster-input.ts'
import { etcdCertificateNames, KEYS } from '../resources/parts/names.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import type { KubernetesApi } from '../runtime/api/kubernetes-api.ts'
import { mergePatchOf } from '../runtime/writes/status-writer.ts'
import { etcdCertificatesOf, hasMetadata, isOwn, ownSecrets, secretId } from './own-secrets.ts'
import type { ClusterOfSecrets, OwnMetadata, OwnSecrets } from './own-secrets.ts'
import { contentOf, dataOf, secretRef, SECRETS, textOf } from './secret-content.ts'
import { withoutContent } from './secret-refusals.ts'
import type { SecretsView } from './secrets-view.ts'

/** Nodes ask for 16 bytes at least. */
const CLUSTER_SECRET_BYTES = 32

/** What is written, and of what. */
export interface SecretsWish {
  readonly input: ClusterInput
  readonly view: Pick<SecretsView, 'outdated'>
  /** As a step names objects. Those that the view does not call outdated are left alone. */
  readonly names: readonly string[]
  readonly nowMs: number
  readonly keys: KeySource
  /** `bytes` bytes that nobody can guess, as `randomBytes` of node:crypto gives. */
  readonly random: (bytes: number) => Uint8Array
}

/**
 * Contract:
 * - Reads the Secrets again, and writes what is due then. What has become another's since is left alone.
 * - Rejects with a conflict if one of them was changed meanwhile: the next pass reads again.
 */
export async function writeSecrets(
  api: KubernetesApi,
  wish: SecretsWish,
  signal: AbortSignal,
): Promise<void> {
  const { input, view, names } = wish
  const due = view.outdated.filter((name) => names.includes(name))
  const { cluster, etcd } = ownSecrets(input.cluster)
  const writer = new SecretWriter(api, input.cluster, signal)
  if (cluster !== undefined && due.includes(secretId(cluster))) {
    await writeClusterSecret(writer, cluster, wish)
  }
  if (etcd !== undefined && Object.values(etcd).some((one) => due.includes(secretId(one)))) {
    await writeEtcdSecrets(writer, etcd, wish)
  }
}

/** SW1. */
async function writeClusterSecret(
  writer: SecretWriter,
  own: OwnMetadata,
  { input, random }: SecretsWish,
): Promise<void> {
  const live = await writer.read(own)
  if (live === 'foreign') return
  const isThere = textOf(contentOf(live), KEYS.clusterSecret) !== ''
  const secret = Buffer.from(random(CLUSTER_SECRET_BYTES)).toString('hex')
  const built = buildClusterSecret(input, { secret })
  await writer.write(live, { built, patch: isThere ? {} : built.data })
}

/** SW2. */
async function writeEtcdSecrets(
  writer: SecretWriter,
  own: NonNullable<OwnSecrets['etcd']>,
  { input, nowMs, keys }: SecretsWish,
): Promise<void> {
  const authority = await writer.read(own.authority)
  const shown = await writer.read(own.certificates)
  if (authority === 'foreign' || shown === 'foreign') return
  const current = etcdCertificatesOf(contentOf(authority), contentOf(shown))
  const names = etcdCertificateNames(input.cluster)
  const { certificates } = renewEtcdCertificates(current, { names, nowMs, keys })
  const { authorities, former } = certificates
  const keyless = former.map((certificate) => ({ certificate, key: '' }))
  const builtAuthority = buildEtcdAuthoritySecret(input, authorities)
  const builtShown = buildEtcdCertificatesSecret(input, {
    ...certificates,
    authorities: [...keyless, ...authorities],
  })
  await writer.write(authority, {
    built: builtAuthority,
    patch: mergePatchOf(dataOf(authority), builtAuthority.data),
  })
  await writer.write(shown, {
    built: builtShown,
    patch: mergePatchOf(dataOf(shown), builtShown.data),
  })
}

type BuiltSecret = ReturnType<typeof buildClusterSecret>

/** A Secret as it is made, and what is changed of the data of one that is there. */
interface Write {
  readonly built: BuiltSecret
  readonly patch: Readonly<Record<string, unknown>>
}

class SecretWriter {
  readonly #api: KubernetesApi
  readonly #cluster: ClusterOfSecrets
  readonly #signal: AbortSignal

  constructor(api: KubernetesApi, cluster: ClusterOfSecrets, signal: AbortSignal) {
    this.#api = api
    this.#cluster = cluster
    this.#signal = signal
  }

  async read(own: OwnMetadata): Promise<StoredObject | 'foreign' | undefined> {
    const live = await this.#api.get(secretRef(this.#cluster.namespace, own.name), this.#signal)
    return live !== undefined && !isOwn(live, own, this.#cluster.uid) ? 'foreign' : live
  }

  /** SW3. */
  async write(live: StoredObject | undefined, { built, patch }: Write): Promise<void> {
    const { metadata } = built
    if (live === undefined) {
      await withoutContent([built], () => this.#api.create(SECRETS, built, this.#signal))
      return
    }
    const isRight = hasMetadata(live, metadata, this.#cluster.uid)
    if (isRight && Object.keys(patch).length === 0) return
    const { resourceVersion, ownerReferences = [] } = live.metadata
    const others = ownerReferences.filter(({ uid }) => uid !== this.#cluster.uid)
    const owners = [...others, ...(metadata.ownerReferences ?? [])]
    const value = {
      metadata: {
        resourceVersion,
        labels: metadata.labels,
        ownerReferences: owners.length === 0 ? null : owners,
      },
      ...(Object.keys(patch).length === 0 ? {} : { data: patch }),
    }
    const ref = secretRef(this.#cluster.namespace, metadata.name)
    await withoutContent([built, live], () =>
      this.#api.patch({ ref, patch: { type: 'merge', value }, part: 'object' }, this.#signal),
    )
  }
}
