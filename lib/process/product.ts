// Reads which version of the product is installed.

import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')

/** The installed product. */
export interface Product {
  readonly version: string
  /** The revision of the sources that an image was made from. Absent in a checkout, whose files may have changed since. */
  readonly gitCommit?: string
  /**
   * When this version was installed. It replaces a build time, because the product is not built.
   */
  readonly installedAt: Date
}

/** `root` has package.json, and build.json if an image was made of it. */
export function readProduct(root = ROOT): Product {
  const manifest = path.join(root, 'package.json')
  const { version }: { readonly version: string } = JSON.parse(readFileSync(manifest, 'utf8'))
  return { version, ...readBuild(root), installedAt: statSync(manifest).mtime }
}

/** Written by images/parts/sources.ts. */
function readBuild(root: string): Pick<Product, 'gitCommit'> {
  const text = readIfThere(path.join(root, 'build.json'))
  if (text === undefined) return {}
  const build: { readonly git_commit?: string } = JSON.parse(text)
  return build.git_commit === undefined ? {} : { gitCommit: build.git_commit }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
