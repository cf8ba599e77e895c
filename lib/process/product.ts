// What is installed here.

import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'

const MANIFEST = path.resolve(import.meta.dirname, '../../package.json')

export interface Product {
  readonly version: string
  /** Nothing is built; what stands in for the time of a build is when this version was put here. */
  readonly installedAt: Date
}

export function readProduct(): Product {
  const { version }: { readonly version: string } = JSON.parse(readFileSync(MANIFEST, 'utf8'))
  return { version, installedAt: statSync(MANIFEST).mtime }
}
