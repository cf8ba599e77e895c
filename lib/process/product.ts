// Reads which version of the product is installed.

import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'

const MANIFEST = path.resolve(import.meta.dirname, '../../package.json')

/** The installed product. */
export interface Product {
  readonly version: string
  /**
   * When this version was installed. It replaces a build time, because the product is not built.
   */
  readonly installedAt: Date
}

export function readProduct(): Product {
  const { version }: { readonly version: string } = JSON.parse(readFileSync(MANIFEST, 'utf8'))
  return { version, installedAt: statSync(MANIFEST).mtime }
}
