import type { SecretProblem } from '../machines/observed/kubernetes-view.ts'

/** By which the operator proves itself to an etcd of its own, in PEM. */
export interface EtcdTlsFiles {
  readonly ca: Buffer
  readonly cert: Buffer
  readonly key: Buffer
}

/**
 * What a pass knows of the Secrets of a cluster. Contract:
 * - No value of a Secret is in it, but for `etcdTls`. A digest does not reveal what it is made of.
 */
export interface SecretsView {
  /** Secrets and keys that the spec names and that are not there. Those that may be missing are left out. */
  readonly problems: readonly SecretProblem[]
  /** Secrets that the operator has to make or to renew, each as `Kind/name`. */
  readonly outdated: readonly string[]
  /** Secrets with a name that is needed, which are not the cluster's or on their way out, each as `Kind/name`. */
  readonly foreign: readonly string[]
  /** Over what nodes read only at their start. */
  readonly secretHash: string
  /** Over the authorities that the members of an own etcd find at their start. */
  readonly authorityHash: string
  /** The Secret of an external etcd has a certificate for clients. */
  readonly hasEtcdCertificate: boolean
  /** `undefined` without an own etcd, and until its Secrets are made. */
  readonly etcdTls: EtcdTlsFiles | undefined
  /** When the next certificate is due: now, if one is. Absent without an own etcd. */
  readonly nextRenewalMs?: number
}
