// manifest.json of a model directory: what it holds, with digests, and where it came from.

import type { ModelKind } from '../model-spec.ts'
import { isSafePath, memberOf } from './hub-listing.ts'

export const MANIFEST_FILE = 'manifest.json'
const SCHEMA_VERSION = 2

export interface ManifestFile {
  readonly name: string
  /** `sha256:` and the hex. */
  readonly digest: string
  readonly size: number
}

export interface Manifest {
  readonly schemaVersion: typeof SCHEMA_VERSION
  readonly name: string
  readonly owner: string
  readonly source: string
  readonly type: ModelKind
  readonly files: readonly ManifestFile[]
  /** The graphs of each variant. */
  readonly variants: Readonly<Record<string, readonly string[]>>
  readonly provenance: { readonly downloadedFrom: string; readonly downloadedAt: string }
}

export type ManifestFacts = Omit<Manifest, 'schemaVersion'>

/** `before` is what the directory held: its other files and variants stay. */
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

export type ManifestContent = Pick<Manifest, 'files' | 'variants'>

export const NO_CONTENT: ManifestContent = { files: [], variants: {} }

/** Files and variants of a manifest; what cannot be read, or names a file outside, is left out. */
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
    return undefined // a manifest that is no JSON says nothing
  }
}
