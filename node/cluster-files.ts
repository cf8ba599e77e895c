// The files that the configuration of a node of a cluster names: what they hold, and whether it is of use.

import { readFile, stat } from 'node:fs/promises'
import tls from 'node:tls'
import { messageOf } from '../lib/errors.ts'
import { ConfigurationError, flagName } from '../lib/options.ts'
import { SECRET_BYTES_MIN, type ClusterNodeConfig, type FileOption } from './cluster-config.ts'

/** Different bytes of a secret. Sixteen random digits have fewer once in 100,000 times. */
const SECRET_SYMBOLS_MIN = 6
/** A group may read it, as it does what Kubernetes mounts with `fsGroup`. */
const OTHERS_MODE = 0o027

/** PEM files by their content. */
export interface PemFiles {
  readonly ca: Buffer
  readonly cert: Buffer
  readonly key: Buffer
}

/** What the files of the configuration hold; undefined where it names none. */
export interface ClusterFiles {
  /** Whether other users than those of its group can read the secret, or change it. */
  readonly secretIsExposed: boolean
  readonly secret: Buffer
  /** Further secrets that other nodes may show. */
  readonly accepted: readonly Buffer[]
  readonly peerTls: PemFiles | undefined
  readonly etcdUser: { readonly name: string; readonly password: string } | undefined
  readonly etcdTls: Partial<PemFiles> | undefined
}

/**
 * Where files are read.
 *
 * Contract:
 * - `content` follows links and answers what is there at the call. It rejects as `readFile` of Node does: a file that is
 *   not there with the code ENOENT.
 * - `mode` answers the permission bits of the file that a path leads to, and rejects in the same way.
 */
export interface FileReader {
  content(path: string): Promise<Buffer>
  mode(path: string): Promise<number>
}

const DISK: FileReader = {
  content: (path) => readFile(path),
  mode: async (path) => (await stat(path)).mode,
}

/** Reads all files that the configuration names. Throws a ConfigurationError that names every problem. */
export async function readClusterFiles(
  config: ClusterNodeConfig,
  reader: FileReader = DISK,
): Promise<ClusterFiles> {
  const files = new NamedFiles(config, reader)
  const secret = (await files.secret('clusterSecretFile')) ?? Buffer.alloc(0)
  const [ca, cert, key] = [
    await files.pem('peerTlsCa'),
    await files.pem('peerTlsCert'),
    await files.pem('peerTlsKey'),
  ]
  if (ca && cert && key) files.checkPair('peerTlsCert', { ca, cert, key })
  const accepted: Buffer[] = []
  for (const path of config.acceptedSecretFiles) accepted.push(...(await files.further(path)))
  const etcd = await etcdFilesOf(files, config)
  const mode = await files.mode('clusterSecretFile')
  files.assertAll()
  return {
    secret,
    accepted: accepted.filter((one) => !one.equals(secret)),
    secretIsExposed: (mode & OTHERS_MODE) !== 0,
    peerTls: ca && cert && key && { ca, cert, key },
    ...etcd,
  }
}

type EtcdFiles = Pick<ClusterFiles, 'etcdUser' | 'etcdTls'>

/** As `readClusterFiles`, only those for etcd. */
export async function readEtcdFiles(config: ClusterNodeConfig): Promise<EtcdFiles> {
  const files = new NamedFiles(config, DISK)
  const etcd = await etcdFilesOf(files, config)
  files.assertAll()
  return etcd
}

async function etcdFilesOf(files: NamedFiles, { etcdUser }: ClusterNodeConfig): Promise<EtcdFiles> {
  const password = await files.line('etcdPasswordFile')
  const etcdTls = {
    ...named('ca', await files.pem('etcdCa')),
    ...named('cert', await files.pem('etcdCert')),
    ...named('key', await files.pem('etcdKey')),
  }
  if (Object.keys(etcdTls).length > 0) files.checkPair('etcdCert', etcdTls)
  return {
    etcdUser: password && { name: etcdUser, password: password.toString() },
    etcdTls: Object.keys(etcdTls).length === 0 ? undefined : etcdTls,
  }
}

function named(name: keyof PemFiles, content: Buffer | undefined): Partial<PemFiles> {
  return content === undefined ? {} : { [name]: content }
}

type NamedFile = 'clusterSecretFile' | 'etcdPasswordFile' | 'etcdCa' | FileOption

class NamedFiles {
  readonly #config: ClusterNodeConfig
  readonly #reader: FileReader
  readonly #problems: string[] = []

  constructor(config: ClusterNodeConfig, reader: FileReader) {
    this.#config = config
    this.#reader = reader
  }

  /** The content without the line feed that editors put at its end. */
  async line(option: NamedFile): Promise<Buffer | undefined> {
    const content = await this.#read(option)
    if (content === undefined) return undefined
    const line = withoutLineFeed(content)
    if (line.length === 0) this.refuse(option, 'it is empty')
    return line
  }

  /** A secret that is long, and that nobody guesses. */
  async secret(option: NamedFile): Promise<Buffer | undefined> {
    const secret = await this.line(option)
    if (secret === undefined || secret.length === 0) return undefined
    const objection = objectionTo(secret)
    if (objection !== undefined) this.refuse(option, objection)
    return secret
  }

  /** The secret of a file that may be missing or empty. */
  async further(path: string): Promise<readonly Buffer[]> {
    try {
      const secret = withoutLineFeed(await this.#reader.content(path))
      if (secret.length === 0) return []
      const objection = objectionTo(secret)
      if (objection !== undefined) this.#refuseFurther(path, objection)
      return [secret]
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
      this.#refuseFurther(path, `it cannot be read: ${messageOf(error)}`)
      return []
    }
  }

  #refuseFurther(path: string, why: string): void {
    this.#problems.push(`--accepted-secret-files ${path}: ${why}`)
  }

  /** Files that are read while they are replaced may not fit each other. */
  checkPair(option: NamedFile, pem: Partial<PemFiles>): void {
    if (this.#problems.length > 0) return
    try {
      tls.createSecureContext(pem)
    } catch (error) {
      this.refuse(option, `it is of no use with its key and authority: ${messageOf(error)}`)
    }
  }

  async pem(option: NamedFile): Promise<Buffer | undefined> {
    const content = await this.#read(option)
    if (content !== undefined && !content.includes('-----BEGIN ')) {
      this.refuse(option, 'it is not in PEM: it has no "-----BEGIN" line')
    }
    return content
  }

  /** 0 if there is a problem already: a file may be replaced between two looks at it. */
  async mode(option: NamedFile): Promise<number> {
    if (this.#problems.length > 0) return 0
    try {
      return await this.#reader.mode(this.#config[option])
    } catch (error) {
      this.refuse(option, `it cannot be read: ${messageOf(error)}`)
      return 0
    }
  }

  refuse(option: NamedFile, why: string): void {
    this.#problems.push(`${flagName(option)} ${this.#config[option]}: ${why}`)
  }

  assertAll(): void {
    if (this.#problems.length > 0) throw new ConfigurationError(this.#problems)
  }

  async #read(option: NamedFile): Promise<Buffer | undefined> {
    const place = this.#config[option]
    if (place === '') return undefined
    try {
      return await this.#reader.content(place)
    } catch (error) {
      this.refuse(option, `it cannot be read: ${messageOf(error)}`)
      return undefined
    }
  }
}

/** Without the line feed that editors put at its end. */
function withoutLineFeed(content: Buffer): Buffer {
  return Buffer.from(content.toString('latin1').replace(/\r?\n$/, ''), 'latin1')
}

/** Why nobody should rely on a secret. */
function objectionTo(secret: Buffer): string | undefined {
  if (secret.length < SECRET_BYTES_MIN) return `it has fewer than ${SECRET_BYTES_MIN} bytes`
  if (new Set(secret).size >= SECRET_SYMBOLS_MIN) return undefined
  return 'it repeats a few characters; make one with: openssl rand -hex 32'
}
