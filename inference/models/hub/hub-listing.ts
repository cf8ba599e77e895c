// Parses a hub's list of a repository's files: an array of entries
// `{type, path, size, oid, lfs?: {oid, size}}`. `oid` is git's name of the file's blob (SHA-1), and
// `lfs.oid` is the SHA-256 of a large file's contents.
// https://huggingface.co/docs/huggingface.js/hub/interfaces/ListFileEntry

import { ServiceError } from '../../../lib/errors.ts'

/** A file of a repository. */
export interface HubFile {
  /** The relative path with `/`. It cannot lead out of a folder that it is joined to. */
  readonly path: string
  readonly bytes: number
  readonly digest: FileDigest
}

/** The digest of a file's contents. */
export type FileDigest =
  | { readonly kind: 'sha256'; readonly hex: string }
  /** SHA-1 over `blob <bytes>\0` and the contents, as in git. */
  | { readonly kind: 'git-blob'; readonly hex: string }

const SHA256 = /^(?:sha256:)?([0-9a-f]{64})$/
const SHA1 = /^[0-9a-f]{40}$/
const PATH_PART = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$/

/**
 * The files of one page. It skips files with an unsafe path or without a digest, because no model
 * needs them. Throws UNAVAILABLE if the answer is not a list.
 */
export function parseListing(page: unknown): HubFile[] {
  if (!Array.isArray(page)) {
    throw new ServiceError('UNAVAILABLE', 'the hub did not answer with a list of files')
  }
  const entries: unknown[] = page
  return entries.map(parseEntry).filter((file) => file !== undefined)
}

/** Whether a relative path stays within its folder and names no hidden file. */
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

/** An own member of an object; undefined for any other value. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined
}
