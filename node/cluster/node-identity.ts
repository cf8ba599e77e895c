// What a node remembers of itself from start to start. Format: docs/reference/formats/data-directory.md.

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord, isText, isWhole, type JsonRecord } from '../../lib/json-record.ts'
import type { ClusterIdentity } from '../controller/core/records/cluster-codec.ts'
import type { NodeId } from '../replication/core/configuration.ts'
import { replaceFile } from '../storage/file-replacement.ts'
import { levelError } from '../storage/level-error.ts'

const FORMAT = 'quarry-node'
const FORMAT_VERSION = 1
const FILE = 'node.json'

/** The content of the file. */
interface Remembered {
  readonly incarnation: number
  readonly wholeSince: number
  readonly cleanShutdown: boolean
  readonly cluster: ClusterIdentity | undefined
}

const NEW: Remembered = {
  incarnation: 0,
  wholeSince: 1,
  cleanShutdown: true,
  cluster: undefined,
}

/** Where an identity is kept: one small file, which is replaced as a whole. */
export interface IdentityFile {
  /** For messages. */
  readonly name: string
  /** Undefined if there is no file yet. */
  read(): Promise<string | undefined>
  /** Resolves when the text is on disk. A crash leaves the text before or this one. */
  replace(text: string): Promise<void>
}

/**
 * A node's identity: the id of its data directory, and which of its lives this is.
 *
 * Contract:
 * - `open` begins a life: the incarnation is one greater than that of every earlier life, and on disk.
 * - `wholeSince` is the first incarnation since which the directory has lost nothing.
 * - A method that changes something resolves when the change is on disk. When it rejects, nothing has
 *   changed for this object.
 * - Changes are made one after the other.
 */
export class NodeIdentity {
  readonly nodeId: NodeId
  /** Whether the life before this one ended by `markClean`. True in a new directory. */
  readonly wasClean: boolean
  /** Whether this life has been told to the cluster, by an answered commit or by one of unknown outcome. */
  mayBeSeen = false
  readonly #file: IdentityFile
  #remembered: Remembered
  #tail: Promise<unknown> = Promise.resolve()

  private constructor(nodeId: NodeId, file: IdentityFile, before: Remembered) {
    this.nodeId = nodeId
    this.#file = file
    this.wasClean = before.cleanShutdown
    this.#remembered = before
  }

  /** Begins the next life over an open data directory. Throws CORRUPTION for a damaged file. */
  static async open(directory: {
    readonly path: string
    readonly id: NodeId
  }): Promise<NodeIdentity> {
    return NodeIdentity.openIn(directory.id, fileAt(path.join(directory.path, FILE)))
  }

  /** The cluster to which a directory belongs; undefined if no node has used it. Begins no life. */
  static async clusterOf(directory: string): Promise<ClusterIdentity | undefined> {
    const file = fileAt(path.join(directory, FILE))
    const text = await file.read()
    return text === undefined ? undefined : parseRemembered(text, file.name).cluster
  }

  /** As `open`, for an identity that is kept in `file`. */
  static async openIn(nodeId: NodeId, file: IdentityFile): Promise<NodeIdentity> {
    const text = await file.read()
    const before = text === undefined ? NEW : parseRemembered(text, file.name)
    const identity = new NodeIdentity(nodeId, file, before)
    await identity.#change(({ incarnation }) => ({
      incarnation: incarnation + 1,
      cleanShutdown: false,
    }))
    return identity
  }

  get incarnation(): number {
    return this.#remembered.incarnation
  }

  get wholeSince(): number {
    return this.#remembered.wholeSince
  }

  /** The cluster that the node has joined. */
  get cluster(): ClusterIdentity | undefined {
    return this.#remembered.cluster
  }

  /** What was in sync in an incarnation below `since` misses something that it acknowledged. */
  async markDamaged(since: number): Promise<void> {
    await this.#change(({ wholeSince }) => ({ wholeSince: Math.max(wholeSince, since) }))
  }

  async joined(cluster: ClusterIdentity): Promise<void> {
    await this.#change(() => ({ cluster }))
  }

  /**
   * The cluster has seen later lives of this node, so the directory is an older copy: it lacks what those
   * lives acknowledged. This life follows them, and nothing before it counts.
   */
  async continueAfter(incarnation: number): Promise<void> {
    const next = incarnation + 1
    await this.#change(() => ({ incarnation: next, wholeSince: next }))
  }

  /** The process ends after this, and everything of it is on disk. */
  async markClean(): Promise<void> {
    await this.#change(() => ({ cleanShutdown: true }))
  }

  async #change(edit: (before: Remembered) => Partial<Remembered>): Promise<void> {
    const done = this.#tail.then(async () => {
      const next = { ...this.#remembered, ...edit(this.#remembered) }
      await writeRemembered(this.#file, next)
      this.#remembered = next
    })
    this.#tail = done.catch(() => undefined) // the caller gets the error; the next change runs
    await done
  }
}

async function writeRemembered(file: IdentityFile, remembered: Remembered): Promise<void> {
  const { incarnation, wholeSince, cleanShutdown, cluster } = remembered
  const stored = {
    format: FORMAT,
    version: FORMAT_VERSION,
    incarnation,
    wholeSince,
    cleanShutdown,
    ...(cluster === undefined ? {} : { cluster: { name: cluster.name, id: cluster.id } }),
  }
  await file.replace(`${JSON.stringify({ ...stored, crc: crcOf(stored) })}\n`)
}

function fileAt(name: string): IdentityFile {
  return {
    name,
    read: async () => {
      try {
        return await readFile(name, 'utf8')
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw levelError(error, path.dirname(name))
      }
    },
    replace: async (text) => {
      try {
        await replaceFile(name, text)
      } catch (error) {
        throw levelError(error, path.dirname(name))
      }
    },
  }
}

function parseRemembered(text: string, file: string): Remembered {
  const found = parseJson(text)
  if (found?.['format'] !== FORMAT || !isWhole(found['version'])) throw damaged(file)
  if (found['version'] > FORMAT_VERSION) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `${file} has format version ${found['version']}, but this program supports ` +
        `${FORMAT_VERSION}; start a newer version of the program`,
    )
  }
  assertWhole(found, file)
  const { incarnation, wholeSince, cleanShutdown, cluster } = found
  if (!isWhole(incarnation) || !isWhole(wholeSince) || typeof cleanShutdown !== 'boolean') {
    throw damaged(file)
  }
  return { incarnation, wholeSince, cleanShutdown, cluster: parseCluster(cluster, file) }
}

/** A number with another digit would still be a number. Files of earlier programs have no checksum. */
function assertWhole({ crc, ...stored }: JsonRecord, file: string): void {
  if (crc !== undefined && crc !== crcOf(stored)) throw damaged(file)
}

/** The members keep their order in a file, so their text is the same again. */
function crcOf(stored: JsonRecord): string {
  return crc32(JSON.stringify(stored)).toString(16).padStart(8, '0')
}

function parseCluster(stored: unknown, file: string): ClusterIdentity | undefined {
  if (stored === undefined) return undefined
  if (!isJsonRecord(stored)) throw damaged(file)
  const { name, id } = stored
  if (!isText(name) || !isText(id)) throw damaged(file)
  return { name, id }
}

function parseJson(text: string): JsonRecord | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Without the number of its life a node could be taken for an earlier life of itself, which had more data. */
function damaged(file: string): ServiceError {
  return new ServiceError(
    'CORRUPTION',
    `${file} is damaged; start the node over an empty data directory, so that the cluster fills it`,
  )
}
