// Connections to the stores and the etcds of clusters, kept from pass to pass.

import { createHash } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { GrpcEtcdAdmin } from '../etcd/etcd-admin.ts'
import type { EtcdAdmin } from '../etcd/etcd-admin.ts'
import type { ClusterInput } from '../resources/parts/cluster-input.ts'
import { etcdHost, etcdPods, objectNames, PORTS } from '../resources/parts/names.ts'
import { etcdQuotaBytes } from '../resources/etcd/etcd-command.ts'
import type { EtcdTlsFiles } from '../secrets/secrets-view.ts'
import type { InferenceAnswer } from '../machines/observed/kubernetes-view.ts'
import { lookAtInference } from '../store/inference-look.ts'
import { HttpStoreAdmin } from '../store/store-admin.ts'
import type { StoreAdmin } from '../store/store-admin.ts'

/** Opens what steers the store and the etcd of a cluster. Tests replace it. */
export interface AdminSource {
  /** Over the nodes of these pods, one at least. */
  store(input: ClusterInput, pods: readonly string[]): StoreAdmin
  /** Over all members that there may be. */
  etcd(input: ClusterInput, members: number, tls: EtcdTlsFiles): EtcdAdmin
  /** What the inference servers beside the nodes of these pods say, by the names of the pods. */
  inference(
    input: ClusterInput,
    pods: readonly string[],
  ): Promise<ReadonlyMap<string, InferenceAnswer>>
}

export function networkAdmins(clock: Clock): AdminSource {
  return {
    store: (input, pods) => {
      const urls = pods.map((pod) => urlOf(input, pod, PORTS.api))
      return new HttpStoreAdmin({ urls, clock })
    },
    inference: (input, pods) =>
      lookAtInference(new Map(pods.map((pod) => [pod, urlOf(input, pod, PORTS.inferenceHealth)]))),
    etcd: (input, count, tls) => {
      const { cluster } = input
      const members = etcdPods(cluster.name, count).map((podName) => {
        const host = etcdHost(cluster, podName)
        const clientURL = `https://${host}:${PORTS.etcdClients}`
        return { podName, clientURL, peerURL: `https://${host}:${PORTS.etcdPeers}` }
      })
      return new GrpcEtcdAdmin({ members, tls, quotaBytes: etcdQuotaBytes(input), clock })
    },
  }
}

/** By the name that the headless Service gives the pod of a node. */
function urlOf({ cluster }: ClusterInput, pod: string, port: number): string {
  const { nodesService } = objectNames(cluster.name)
  return `http://${pod}.${nodesService}.${cluster.namespace}.svc:${port}`
}

interface Kept<Admin> {
  readonly key: string
  readonly admin: Admin
}

/**
 * Contract:
 * - The same admin is answered as long as what it is reached by stays the same; another one replaces it, which is closed.
 * - `forget` closes those of a cluster that is gone.
 */
export class KeptAdmins implements AsyncDisposable {
  readonly #source: AdminSource
  readonly #stores = new Map<string, Kept<StoreAdmin>>()
  readonly #etcds = new Map<string, Kept<EtcdAdmin>>()

  constructor(source: AdminSource) {
    this.#source = source
  }

  /** `undefined` without a pod. */
  store(input: ClusterInput, pods: readonly string[]): StoreAdmin | undefined {
    const { uid } = input.cluster
    if (pods.length === 0) return undefined
    const key = pods.join(',')
    const kept = this.#stores.get(uid)
    if (kept?.key === key) return kept.admin
    const admin = this.#source.store(input, pods)
    this.#stores.set(uid, { key, admin })
    return admin
  }

  inference(
    input: ClusterInput,
    pods: readonly string[],
  ): Promise<ReadonlyMap<string, InferenceAnswer>> {
    return this.#source.inference(input, pods)
  }

  /** `undefined` without an own etcd or without its certificates. */
  etcd(
    input: ClusterInput,
    { members, tls }: { readonly members: number; readonly tls: EtcdTlsFiles | undefined },
  ): EtcdAdmin | undefined {
    const { uid } = input.cluster
    if (input.decided.etcd === undefined || tls === undefined) return undefined
    const key = `${members} ${digestOf(tls)}`
    const kept = this.#etcds.get(uid)
    if (kept?.key === key) return kept.admin
    const admin = this.#source.etcd(input, members, tls)
    this.#etcds.set(uid, { key, admin })
    if (kept !== undefined) void kept.admin[Symbol.asyncDispose]()
    return admin
  }

  async forget(uid: string): Promise<void> {
    const etcd = this.#etcds.get(uid)
    this.#stores.delete(uid)
    this.#etcds.delete(uid)
    await etcd?.admin[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#etcds.keys()].map((uid) => this.forget(uid)))
  }
}

function digestOf({ ca, cert, key }: EtcdTlsFiles): string {
  const hash = createHash('sha256')
  for (const part of [ca, cert, key]) hash.update(part).update('\0')
  return hash.digest('hex')
}
