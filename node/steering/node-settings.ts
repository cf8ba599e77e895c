import type { LogLevel } from '../../lib/log.ts'

/** A file of the configuration, as it was when it was loaded. */
export interface LoadedFile {
  /** The option that names it, such as `peer-tls-cert`. */
  readonly option: string
  /**
   * In hexadecimal digits. Of files in PEM the SHA-256, except of keys; of secrets and passwords, without the line feed
   * at their end, 8 bytes of scrypt (N 16384, r 8, p 1, salt `quarry`), so that nobody tries many.
   */
  readonly digest: string
  /** When a certificate ends; absent for other files. */
  readonly expires_at?: string
}

/** What a node has loaded of what may change while it runs. */
export interface LoadedSettings {
  readonly node: string
  readonly loaded_at: string
  readonly log_level: LogLevel
  /** The SHA-256 of all that follows from files and of the level; equal if nothing has changed. */
  readonly digest: string
  /** Empty in swarm mode. */
  readonly files: readonly LoadedFile[]
}

/**
 * The settings of this node that change without a restart.
 *
 * Contract:
 * - `reload` reads the files that the node was started with again, uses them for whatever begins from then on, and
 *   resolves with what it has loaded. Running requests and open connections continue.
 * - It rejects with CONFLICT, and nothing is replaced, if some file is missing or of no use, or if a key of a model would
 *   be left that no secret opens.
 * - Without a level, that of the configuration is used. The level that is given holds until the next reload.
 * - Calls at the same time come one after the other.
 */
export interface NodeSettings {
  reload(wish: { readonly logLevel?: LogLevel | undefined }): Promise<LoadedSettings>
}
