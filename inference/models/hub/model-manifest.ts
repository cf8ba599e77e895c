// manifest.json of a model directory: its files with digests, its variants, and its origin.

import type { ModelKind } from '../model-spec.ts'
import type { Repository } from './hub-client.ts'
import { isSafePath, memberOf } from './hub-listing.ts'

export const MANIFEST_FILE = 'manifest.json'
const SCHEMA_VERSION = 2

/** One file of the directory. */
export interface ManifestFile {
  readonly name: string
  /** `sha256:` and the digest in hex. */
  readonly digest: string
  readonly size: number
}

/** The contents of manifest.json. */
export interface Manifest {
  readonly schemaVersion: typeof SCHEMA_VERSION
  readonly name: string
  readonly owner: string
  readonly source: string
  readonly type: ModelKind
  readonly files: readonly ManifestFile[]
  /** The paths of the graphs of each variant. */
  readonly variants: Readonly<Record<string, readonly string[]>>
  readonly provenance: { readonly downloadedFrom: string; readonly downloadedAt: string }
}

/** A manifest without its version. */
export type ManifestFacts = Omit<Manifest, 'schemaVersion'>

/** The manifest after a pull. `before` is the directory's content, of which other variants stay. */
export function buildManifest(facts: ManifestFacts, before: ManifestContent): Manifest {
  const names = new Set(facts.files.map(({ name }) => name))
  const kept = before.files.filter(({ name }) => !names.has(name))
  return {
    schemaVersion: SCHEMA_VERSION,
    ...facts,
    files: [...kept, ...facts.files].toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    variants: { ...before.variants, ...facts.variants },
  }
}

/** The files and variants of a directory. */
export type ManifestContent = Pick<Manifest, 'files' | 'variants'>

/** The `source` of a manifest: from where of a hub the last pull was. */
export function sourceOf({ owner, name, revision }: Repository): string {
  return `hf:${owner}/${name}@${revision}`
}

/** The `source` that a manifest names; undefined in a manifest that does not. */
export function parseSource(text: string): string | undefined {
  const source = memberOf(parseJson(text), 'source')
  return typeof source === 'string' ? source : undefined
}

export const NO_CONTENT: ManifestContent = { files: [], variants: {} }

/** The files and variants of a manifest. Malformed entries and unsafe paths are left out. */
export function parseManifestContent(text: string): ManifestContent {
  const value = parseJson(text)
  const files = memberOf(value, 'files')
  const variants = memberOf(value, 'variants')
  return {
    files: Array.isArray(files) ? files.flatMap(parseFile) : [],
    variants: Object.fromEntries(
      Object.entries(variants ?? {}).flatMap(([variant, names]) => {
        const paths = [names].flat().filter(isPath)
        return paths.length === 0 ? [] : [[variant, paths]]
      }),
    ),
  }
}

function parseFile(entry: unknown): ManifestFile[] {
  const name = memberOf(entry, 'name')
  const digest = memberOf(entry, 'digest')
  const size = memberOf(entry, 'size')
  if (!isPath(name) || typeof digest !== 'string' || typeof size !== 'number') return []
  return [{ name, digest, size }]
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && isSafePath(value)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // a manifest that is not JSON has no content
  }
}
