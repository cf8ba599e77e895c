// The answer of a hub to "which files has this repository": an array of entries
// `{type, path, size, oid, lfs?: {oid, size}}`, where `oid` is git's name of the file's blob (SHA-1)
// and `lfs.oid` the SHA-256 of what a large file holds.
// https://huggingface.co/docs/huggingface.js/hub/interfaces/ListFileEntry

import { ServiceError } from '../../../lib/errors.ts'

export interface HubFile {
  /** Relative, with `/`; safe to be joined to a folder. */
  readonly path: string
  readonly bytes: number
  readonly digest: FileDigest
}

export type FileDigest =
  | { readonly kind: 'sha256'; readonly hex: string }
  /** Of `blob <bytes>\0` and the content, as git does it. */
  | { readonly kind: 'git-blob'; readonly hex: string }

const SHA256 = /^(?:sha256:)?([0-9a-f]{64})$/
const SHA1 = /^[0-9a-f]{40}$/
const PATH_PART = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$/

/**
 * The files of a page. Files whose path could leave the folder, or that have no digest, are left
 * out as if they were not there: no model needs such files.
 */
export function parseListing(page: unknown): HubFile[] {
  if (!Array.isArray(page)) {
    throw new ServiceError('UNAVAILABLE', 'the hub did not answer with a list of files')
  }
  const entries: unknown[] = page
  return entries.map(parseEntry).filter((file) => file !== undefined)
}

export function isSafePath(path: string): boolean {
  return path.split('/').every((part) => PATH_PART.test(part))
}

function parseEntry(entry: unknown): HubFile | undefined {
  const path = memberOf(entry, 'path')
  const bytes = memberOf(entry, 'size')
  if (memberOf(entry, 'type') !== 'file' || typeof path !== 'string' || !isSafePath(path)) {
    return undefined
  }
  const digest = parseDigest(entry)
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0) return undefined
  return digest === undefined ? undefined : { path, bytes, digest }
}

function parseDigest(entry: unknown): FileDigest | undefined {
  const lfs = memberOf(entry, 'lfs')
  if (lfs !== undefined && lfs !== null) {
    const oid = memberOf(lfs, 'oid')
    const hex = typeof oid === 'string' ? SHA256.exec(oid)?.[1] : undefined
    return hex === undefined ? undefined : { kind: 'sha256', hex }
  }
  const oid = memberOf(entry, 'oid')
  return typeof oid === 'string' && SHA1.test(oid) ? { kind: 'git-blob', hex: oid } : undefined
}

export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined
}
