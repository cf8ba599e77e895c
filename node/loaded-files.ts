// The files of a node of a cluster as its parts use them, and how they are replaced while it runs.
//
// Invariants:
//   LF1  Files are put to use all together, or not at all: a set that was read half replaced is refused.
//   LF2  A secret goes only when nothing needs it any more: what is sealed under it could not be opened by anybody.

import { createHash } from 'node:crypto'
import type { Clock } from '../lib/clock.ts'
import { familyLines, gauge } from '../lib/metrics.ts'
import { ConfigurationError } from '../lib/options.ts'
import { Replaceable } from '../lib/replaceable.ts'
import type { ClusterNodeConfig } from './cluster-config.ts'
import type { ClusterFiles, PemFiles } from './cluster-files.ts'
import type { EtcdCredentials } from './coordination/etcd/open-etcd-coordination.ts'
import type { TlsIdentity } from './peer/channels/tcp-transport.ts'

/** Names of what is sealed under a secret of now, and under none of these. */
type SecretsNeeded = (secrets: readonly Uint8Array[]) => Promise<readonly string[]>

const SHOWN_MAX = 10

/** What a look at the files has seen. */
export interface FilesSeen {
  /** Whether they hold what is in use. */
  readonly isInUse: boolean
  /** Equal for two looks that have seen the same, also if it cannot be used. It follows from secrets: only this process sees it. */
  readonly digest: string
}

interface FileParts {
  /** Reads all files. Rejects with a ConfigurationError. */
  readonly read: () => Promise<ClusterFiles>
  readonly clock: Clock
}

/** What parts of the node are given. */
export class LoadedFiles {
  /** The first is shown to other nodes. */
  readonly secrets: Replaceable<readonly Uint8Array[]>
  /** Undefined: connections between nodes are without TLS. */
  readonly peerTls: Replaceable<TlsIdentity> | undefined
  readonly etcd: Replaceable<EtcdCredentials>
  readonly #peerNames: readonly string[]
  readonly #with: FileParts
  /** Empty while the node starts: it would start with other secrets, too. */
  readonly #holders = new Set<SecretsNeeded>()
  #digest: string
  #loadedMs: number
  #hasFailed = false

  private constructor(files: ClusterFiles, peerNames: readonly string[], parts: FileParts) {
    this.#with = parts
    this.#peerNames = peerNames
    this.#digest = digestOf(files)
    this.#loadedMs = parts.clock.nowMs()
    this.secrets = new Replaceable<readonly Uint8Array[]>(secretsOf(files))
    const { peerTls } = files
    this.peerTls = peerTls && new Replaceable(identityOf(peerTls, peerNames))
    this.etcd = new Replaceable<EtcdCredentials>(credentialsOf(files))
  }

  /** Reads the files for the first time, and tells what they are. Rejects with a ConfigurationError. */
  static async open(
    { peerNames }: Pick<ClusterNodeConfig, 'peerNames'>,
    parts: FileParts,
  ): Promise<{ readonly loaded: LoadedFiles; readonly files: ClusterFiles }> {
    const files = await parts.read()
    return { loaded: new LoadedFiles(files, peerNames, parts), files }
  }

  /** From now on `load` asks `holder` about secrets that would go (LF2). Returns how to stop. */
  holdSecrets(holder: SecretsNeeded): () => void {
    this.#holders.add(holder)
    return () => this.#holders.delete(holder)
  }

  /** Reads the files again and puts them to use. Rejects with a ConfigurationError (LF1, LF2). */
  async load(): Promise<ClusterFiles> {
    try {
      const files = await this.#with.read()
      await this.#assertNoneLost(secretsOf(files))
      this.#use(files)
      this.#hasFailed = false
      return files
    } catch (error) {
      this.#hasFailed = true
      throw error
    }
  }

  /** Reads the files and puts nothing to use. Files of no use are seen, too. */
  async look(): Promise<FilesSeen> {
    try {
      const digest = digestOf(await this.#with.read())
      const isInUse = digest === this.#digest
      if (isInUse) this.#hasFailed = false // the files hold again what is in use
      return { isInUse, digest }
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      return { isInUse: false, digest: error.message }
    }
  }

  /** LF2. */
  async #assertNoneLost(secrets: readonly Uint8Array[]): Promise<void> {
    const lost = (await Promise.all([...this.#holders].map((holder) => holder(secrets)))).flat()
    if (lost.length === 0) return
    const shown = lost.slice(0, SHOWN_MAX).join(', ')
    const more = lost.length > SHOWN_MAX ? ` and ${lost.length - SHOWN_MAX} more` : ''
    throw new ConfigurationError([
      `--accepted-secret-files: no secret would open the keys of models of ${shown}${more}; accept the secret that is to go until they are sealed under the new one`,
    ])
  }

  #use(files: ClusterFiles): void {
    const { peerTls } = files
    this.secrets.replace(secretsOf(files))
    if (peerTls !== undefined) this.peerTls?.replace(identityOf(peerTls, this.#peerNames))
    this.etcd.replace(credentialsOf(files))
    this.#digest = digestOf(files)
    this.#loadedMs = this.#with.clock.nowMs()
  }

  /** For Prometheus. */
  lines(): readonly string[] {
    const loaded = 'When this node loaded its certificates and secrets last, in seconds since 1970.'
    const failed = '1 while they could not be loaded at the last try: those before are in force.'
    return [
      gauge('quarry_cluster_files_loaded_timestamp_seconds', loaded, this.#loadedMs / 1000),
      gauge('quarry_cluster_files_load_failed', failed, this.#hasFailed ? 1 : 0),
    ].flatMap(familyLines)
  }
}

/** The digest of all that parts of the node are given. */
function digestOf({ secret, accepted, peerTls, etcdTls, etcdUser }: ClusterFiles): string {
  const contents = { secret, accepted, peerTls, etcdTls, etcdUser }
  return createHash('sha256').update(JSON.stringify(contents)).digest('hex')
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
