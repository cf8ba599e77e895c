// The sources of the project and what each of them imports, read from their text.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { LAYERS } from './layers.ts'

export const ROOT = path.resolve(import.meta.dirname, '../..')

const STATEMENT = /^(?:import|export)(?<type>\s+type)?\b[^'";]*?from\s+'(?<from>[^']+)'/gm
const SIDE_EFFECT_OR_DYNAMIC =
  /^import\s+'(?<from>[^']+)'|\bimport(?:\.meta\.resolve)?\(['`](?<dynamic>[^'`$]+)/gm

/** A program's main.ts wires everything together and its config.ts sets it, so they stand above the table. */
const COMPOSERS: ReadonlySet<string> = new Set([
  'main.ts',
  'config.ts',
  'cluster-config.ts',
  'cluster-files.ts',
  'cluster-node.ts',
  'directory-use.ts',
  'files-watch.ts',
  'loaded-files.ts',
  'node-parts.ts',
  'recover-control-plane.ts',
  'reloaded-settings.ts',
])

export interface Import {
  readonly specifier: string
  readonly typeOnly: boolean
}

/** The files that layers.ts is about, by their paths from the root. */
export function layeredFiles(): string[] {
  const patterns = [
    '{cli,bench,images,door,node,inference,operator,lib,openapi,test/support/onnx}/**/*.ts',
    'clients/typescript/{*.ts,src/**/*.ts}',
  ]
  return globSync(patterns, { cwd: ROOT }).toSorted()
}

export function isComposer(file: string): boolean {
  return COMPOSERS.has(path.basename(file))
}

export function layerOf(file: string): string | undefined {
  return Object.keys(LAYERS).find((layer) => file.startsWith(`${layer}/`))
}

export function textOf(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8')
}

export function importsOf(file: string): Import[] {
  const text = textOf(file)
  const statements = text.matchAll(STATEMENT).map(({ groups }) => ({
    specifier: groups?.['from'] ?? '',
    typeOnly: groups?.['type'] !== undefined,
  }))
  const others = text.matchAll(SIDE_EFFECT_OR_DYNAMIC).map(({ groups }) => ({
    specifier: groups?.['from'] ?? groups?.['dynamic'] ?? '',
    typeOnly: false,
  }))
  return [...statements, ...others]
}

/** The files of ours that a file imports, by their paths from the root. */
export function importedFiles(file: string): string[] {
  return importsOf(file)
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => path.normalize(path.join(path.dirname(file), specifier)))
}
