// Where the keys of a cluster lie in etcd, so that several clusters can share one:
//
//   /quarry/<cluster>/e<key>      an entry, whose key the contract knows as <key>
//   /quarry/<cluster>/m<owner>    the mark of one writer, by which it settles lost answers

import { ServiceError } from '../../../lib/errors.ts'
import type { StoredKey } from './etcd-answers.ts'
import type { CoordinationEntry } from '../coordination.ts'
import type { KeyRange } from './etcd-requests.ts'

const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$/i
const OWNER = /^[\w.:-]{1,128}$/
/** UTF-8 has no byte 0xff, so this lies behind every key with a prefix. */
const BEHIND_ALL = Buffer.of(0xff)

/** Whether the text may be a cluster's name: 1 to 63 letters, digits, dots, dashes and underscores. */
export function isClusterName(text: string): boolean {
  return NAME.test(text)
}

/** The keys of one cluster. Throws INVALID_ARGUMENT for a name that may not be part of a key. */
export class ClusterKeys {
  readonly #root: string
  readonly #entryPrefixBytes: number

  constructor(cluster: string) {
    if (!isClusterName(cluster)) {
      throw new ServiceError(
        'INVALID_ARGUMENT',
        `a cluster's name has 1 to 63 letters, digits, dots, dashes; not "${cluster}"`,
      )
    }
    this.#root = `/quarry/${cluster}/`
    this.#entryPrefixBytes = Buffer.byteLength(`${this.#root}e`)
  }

  entry(key: string): Buffer {
    return Buffer.from(`${this.#root}e${key}`)
  }

  /** The range of all entries whose keys begin with `prefix`. */
  range(prefix: string): Required<KeyRange> {
    const key = this.entry(prefix)
    return { key, end: Buffer.concat([key, BEHIND_ALL]) }
  }

  mark(owner: string): Buffer {
    if (OWNER.test(owner)) return Buffer.from(`${this.#root}m${owner}`)
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `the id of a writer has 1 to 128 letters, digits, dots, dashes, colons; not "${owner}"`,
    )
  }

  entryOf({ key, value, createRevision, modRevision }: StoredKey): CoordinationEntry {
    return { key: this.keyOf(key), value, createRevision, modRevision }
  }

  keyOf(stored: Buffer): string {
    return stored.toString('utf8', this.#entryPrefixBytes)
  }
}
