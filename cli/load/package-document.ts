// Turns a package manifest into a document. People write manifests, so every field may have any shape.

import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'

/** A longer readme is cut. */
export const README_BYTES_MAX = 64 * 1024

/** The size of a package on disk. */
export interface PackageSize {
  readonly files: number
  readonly bytes: number
}

/** The document of a package. Fields of an unexpected shape are left out. */
export function buildPackageDocument(
  manifest: object,
  { readme, size }: { readonly readme: string | undefined; readonly size: PackageSize },
): JsonRecord {
  const fields: JsonRecord = { ...manifest }
  const document: JsonRecord = {
    name: fields['name'],
    version: fields['version'],
    description: text(fields['description']),
    keywords: texts(fields['keywords']),
    license: text(fields['license']) ?? text(member(fields['license'], 'type')),
    author: personName(fields['author']),
    homepage: text(fields['homepage']),
    repository: text(fields['repository']) ?? text(member(fields['repository'], 'url')),
    dependencies: names(fields['dependencies']),
    dev_dependencies: names(fields['devDependencies']).length,
    peer_dependencies: names(fields['peerDependencies']).length,
    engines: engines(fields['engines']),
    bin: binNames(fields),
    files: size.files,
    bytes: size.bytes,
    readme: readme === undefined ? undefined : cutUtf8(readme, README_BYTES_MAX),
  }
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined))
}

/** The beginning of a text, at most `bytesMax` bytes of UTF-8, cut between characters. */
export function cutUtf8(value: string, bytesMax: number): string {
  const bytes = Buffer.from(value)
  if (bytes.length <= bytesMax) return value
  // Continuation bytes are 10xxxxxx: step back to where a character begins.
  let end = bytesMax
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function names(value: unknown): string[] {
  return isJsonRecord(value) ? Object.keys(value) : []
}

function member(value: unknown, name: string): unknown {
  return isJsonRecord(value) ? value[name] : undefined
}

/** The name from `Ann <ann@example.org> (https://example.org)` or from an object. */
function personName(value: unknown): string | undefined {
  const name = text(value) ?? text(member(value, 'name'))
  return name?.replace(/\s*[<(].*$/s, '')
}

function engines(value: unknown): Record<string, string> | undefined {
  if (!isJsonRecord(value)) return undefined
  const entries = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return Object.fromEntries(entries)
}

/** A `bin` that is a path is one program with the package's name, without its scope. */
function binNames(fields: JsonRecord): string[] {
  if (typeof fields['bin'] === 'string') return [(text(fields['name']) ?? '').replace(/^.*\//, '')]
  return names(fields['bin'])
}
