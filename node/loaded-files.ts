// The files of a node of a cluster as its parts use them, and how they are replaced while it runs.
//
// Invariants:
//   LF1  Files are put to use all together, or not at all: a set that was read half replaced is refused.
//   LF2  A secret goes only when nothing needs it any more: what is sealed under it could not be opened by anybody.

import { ConfigurationError } from '../lib/options.ts'
import { Replaceable } from '../lib/replaceable.ts'
import type { ClusterNodeConfig } from './cluster-config.ts'
import { readClusterFiles, type ClusterFiles, type PemFiles } from './cluster-files.ts'
import type { EtcdCredentials } from './coordination/etcd/open-etcd-coordination.ts'
import type { TlsIdentity } from './peer/channels/tcp-transport.ts'

/** Names of what is sealed under a secret of now, and under none of these. */
export type SecretsNeeded = (secrets: readonly Uint8Array[]) => Promise<readonly string[]>

const SHOWN_MAX = 10

/** What parts of the node are given. */
export class LoadedFiles {
  /** The first is shown to other nodes. */
  readonly secrets: Replaceable<readonly Uint8Array[]>
  /** Undefined: connections between nodes are without TLS. */
  readonly peerTls: Replaceable<TlsIdentity> | undefined
  readonly etcd: Replaceable<EtcdCredentials>
  readonly #config: ClusterNodeConfig

  constructor(config: ClusterNodeConfig, files: ClusterFiles) {
    this.#config = config
    this.secrets = new Replaceable<readonly Uint8Array[]>(secretsOf(files))
    const { peerTls } = files
    this.peerTls = peerTls && new Replaceable(identityOf(peerTls, config.peerNames))
    this.etcd = new Replaceable<EtcdCredentials>(credentialsOf(files))
  }

  /** Reads the files again and puts them to use. Rejects with a ConfigurationError (LF1, LF2). */
  async load(needed: SecretsNeeded): Promise<ClusterFiles> {
    const files = await readClusterFiles(this.#config)
    const { peerTls } = files
    const secrets = secretsOf(files)
    const lost = await needed(secrets)
    if (lost.length > 0) {
      const shown = lost.slice(0, SHOWN_MAX).join(', ')
      const more = lost.length > SHOWN_MAX ? ` and ${lost.length - SHOWN_MAX} more` : ''
      throw new ConfigurationError([
        `--accepted-secret-files: no secret would open the keys of models of ${shown}${more}; accept the secret that is to go until they are sealed under the new one`,
      ])
    }
    this.secrets.replace(secrets)
    if (peerTls !== undefined) this.peerTls?.replace(identityOf(peerTls, this.#config.peerNames))
    this.etcd.replace(credentialsOf(files))
    return files
  }
}

function secretsOf({ secret, accepted }: ClusterFiles): readonly Uint8Array[] {
  return [secret, ...accepted]
}

function credentialsOf({ etcdTls, etcdUser }: ClusterFiles): EtcdCredentials {
  return { tls: etcdTls, user: etcdUser }
}

function identityOf({ ca, cert, key }: PemFiles, names: readonly string[]): TlsIdentity {
  return { ca: ca.toString(), certificate: cert.toString(), key: key.toString(), names }
}
