// What a node loads again while it runs: its level of logging, secrets and certificates.

import { createHash, scrypt, X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import type { Clock } from '../lib/clock.ts'
import { messageOf, ServiceError } from '../lib/errors.ts'
import type { LogLevel } from '../lib/log.ts'
import { ConfigurationError } from '../lib/options.ts'
import type { ServerLog } from '../lib/process/server-process.ts'
import type { ClusterFiles } from './cluster-files.ts'
import type { LoadedFile, LoadedSettings, NodeSettings } from './steering/node-settings.ts'
import type { LoadedFiles } from './loaded-files.ts'

const SALT = 'quarry'
const FINGERPRINT_BYTES = 8
const slowHash = promisify(scrypt)

/** What a node has that may be loaded again. */
export interface ReloadOptions {
  readonly node: string
  readonly clock: Clock
  readonly log: ServerLog
  /** The level of the configuration, which is read again. */
  readonly levelOf: () => Promise<LogLevel>
  /** Absent: the node has none. */
  readonly files?: Pick<LoadedFiles, 'load'>
}

/** Reloads one after the other. */
export class ReloadedSettings implements NodeSettings {
  readonly #with: ReloadOptions
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: ReloadOptions) {
    this.#with = options
  }

  reload({ logLevel }: { readonly logLevel?: LogLevel | undefined }): Promise<LoadedSettings> {
    return this.#inTurn(async () => {
      const { log, levelOf } = this.#with
      try {
        return await this.#load(logLevel ?? (await levelOf()), 'asked')
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error
        const problems = error.problems.join('; ')
        log.warn('settings were not loaded', { error: problems })
        throw new ServiceError('CONFLICT', `nothing was replaced: ${problems}`, { cause: error })
      }
    })
  }

  /** Loads the files as `reload` does, and keeps the level. Rejects as `LoadedFiles.load` does; who calls it logs that. */
  loadFiles(): Promise<LoadedSettings> {
    return this.#inTurn(() => this.#load(this.#with.log.level, 'changed'))
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const acting = this.#last.then(act)
    this.#last = acting.catch(() => undefined)
    return acting
  }

  async #load(level: LogLevel, why: 'asked' | 'changed'): Promise<LoadedSettings> {
    const { node, clock, log, files: own } = this.#with
    const loaded = await own?.load()
    log.level = level
    const files = loaded === undefined ? [] : await loadedFiles(loaded)
    const digest = sha256(JSON.stringify([level, files]))
    log.info('settings loaded', { digest, logLevel: level, why })
    const loadedAt = new Date(clock.nowMs()).toISOString()
    return { node, loaded_at: loadedAt, log_level: level, digest, files }
  }
}

/** For a signal, to which nobody can be answered. The refusal is in the log. */
export async function reloadSilently(settings: NodeSettings, log: ServerLog): Promise<void> {
  try {
    await settings.reload({})
  } catch (error) {
    if (error instanceof ServiceError) return
    log.error('a reload failed', { error: messageOf(error) })
  }
}

async function loadedFiles(files: ClusterFiles): Promise<readonly LoadedFile[]> {
  const { secret, accepted, peerTls, etcdTls, etcdUser } = files
  const password = etcdUser && Buffer.from(etcdUser.password)
  const secrets = await Promise.all([
    fingerprinted('cluster-secret-file', secret),
    ...accepted.map((one) => fingerprinted('accepted-secret-files', one)),
    ...(password === undefined ? [] : [fingerprinted('etcd-password-file', password)]),
  ])
  return [
    ...secrets,
    ...pemFile('peer-tls-ca', peerTls?.ca),
    ...certificateFile('peer-tls-cert', peerTls?.cert),
    ...pemFile('etcd-ca', etcdTls?.ca),
    ...certificateFile('etcd-cert', etcdTls?.cert),
  ]
}

async function fingerprinted(option: string, secret: Buffer): Promise<LoadedFile> {
  const hash = await slowHash(secret, SALT, FINGERPRINT_BYTES)
  if (!Buffer.isBuffer(hash)) throw new TypeError('scrypt answers bytes')
  return { option, digest: hash.toString('hex') }
}

function pemFile(option: string, content: Buffer | undefined): readonly LoadedFile[] {
  return content === undefined ? [] : [{ option, digest: sha256(content) }]
}

function certificateFile(option: string, content: Buffer | undefined): readonly LoadedFile[] {
  if (content === undefined) return []
  const { validToDate } = new X509Certificate(content)
  return [{ option, digest: sha256(content), expires_at: validToDate.toISOString() }]
}

function sha256(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('hex')
}
