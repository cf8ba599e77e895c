// What the bytes of the images are, as the table of docs/lab/images.md.

import { bytesOf } from '../../images/build-image.ts'
import type { Image } from '../../images/oci/layout.ts'
import { markdownTable } from './markdown.ts'

export const SIZES_DOCUMENT = 'docs/lab/images.md'
const MEGABYTE = 1_000_000
/** A package with less is one of "other packages". */
const NAMED_BYTES_MIN = 2 * MEGABYTE
const PACKAGE = /^app\/(?:.*\/)?node_modules\/(?<name>(?:@[^/]+\/)?[^/]+)/

export function sizeTable(images: readonly Image[]): string {
  const sizes = images.map(sizesOf)
  const names = [...new Set(sizes.flatMap((each) => [...each.keys()]))]
  const largest = (name: string): number => Math.max(...sizes.map((each) => each.get(name) ?? 0))
  const isNamed = (name: string): boolean => !isPackage(name) || largest(name) >= NAMED_BYTES_MIN
  const named = names.filter(isNamed).toSorted((a, b) => largest(b) - largest(a))
  const others = names.filter((name) => !isNamed(name))
  const row = (name: string, of: readonly string[]): string[] => [
    name,
    ...sizes.map((each) => megabytes(of.reduce((sum, one) => sum + (each.get(one) ?? 0), 0))),
  ]
  const all = ['all', ...images.map((image) => megabytes(bytesOf(image)))]
  const rows = [...named.map((name) => row(name, [name])), row('other packages', others), all]
  return markdownTable(['MB', ...images.map(({ reference }) => nameOf(reference))], rows)
}

/** Bytes by package, and by layer for what is in none. */
function sizesOf({ layers }: Image): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>()
  for (const { comment, entries } of layers) {
    for (const entry of entries) {
      if (entry.kind !== 'file') continue
      const name = PACKAGE.exec(entry.path)?.groups?.['name']
      const row = name === undefined ? comment : `\`${name}\``
      sizes.set(row, (sizes.get(row) ?? 0) + entry.size)
    }
  }
  return sizes
}

function isPackage(name: string): boolean {
  return name.startsWith('`')
}

function nameOf(reference: string): string {
  return `\`${reference.slice(0, reference.lastIndexOf(':'))}\``
}

function megabytes(bytes: number): string {
  return (bytes / MEGABYTE).toFixed(1)
}
