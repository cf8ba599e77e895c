// What an image is made of: entries of a file system, before they are packed.

import { createReadStream, lstatSync, readdirSync, readlinkSync } from 'node:fs'
import path from 'node:path'

const ROOT_USER = 0
/** The user that the product runs as. A number, because Kubernetes proves "not root" of numbers alone. */
export const QUARRY_USER = 10_001

interface Place {
  /** From the root of the image, without a slash at either end. */
  readonly path: string
  readonly mode: number
  /** The user and the group. */
  readonly owner: number
}

/** `bytes` reads a file that is `size` bytes long. */
export type ImageEntry =
  | (Place & { readonly kind: 'directory' })
  | (Place & { readonly kind: 'link'; readonly target: string })
  | (Place & {
      readonly kind: 'file'
      readonly size: number
      readonly bytes: () => AsyncIterable<Buffer> | Iterable<Buffer>
    })

export function directoryEntry(at: string, { mode = 0o755, owner = ROOT_USER } = {}): ImageEntry {
  return { kind: 'directory', path: at, mode, owner }
}

export function linkEntry(at: string, target: string): ImageEntry {
  return { kind: 'link', path: at, mode: 0o777, owner: ROOT_USER, target }
}

export function textEntry(at: string, text: string, mode = 0o644): ImageEntry {
  const content = Buffer.from(text)
  const bytes = (): Buffer[] => [content]
  return { kind: 'file', path: at, mode, owner: ROOT_USER, size: content.length, bytes }
}

/** What lies at `file` on this machine. Of its mode only "executable" counts: the rest is the habit of who unpacked it. */
export function entryOf(at: string, file: string): ImageEntry {
  const stats = lstatSync(file)
  if (stats.isSymbolicLink()) return linkEntry(at, readlinkSync(file))
  const mode = (stats.mode & 0o100) === 0 ? 0o644 : 0o755
  const bytes = (): AsyncIterable<Buffer> => createReadStream(file)
  return { kind: 'file', path: at, mode, owner: ROOT_USER, size: stats.size, bytes }
}

/** Files and links below a directory of this machine, by their paths from it. `enters` decides about each directory. */
export function* filesBelow(
  directory: string,
  enters: (below: string) => boolean = () => true,
  below = '',
): Generator<string> {
  for (const found of readdirSync(path.join(directory, below), { withFileTypes: true })) {
    const at = path.posix.join(below, found.name)
    if (!found.isDirectory()) yield at
    else if (enters(at)) yield* filesBelow(directory, enters, at)
  }
}

/** In the one order of all images, each once, with the directories that they lie in. */
export function completeEntries(entries: readonly ImageEntry[]): readonly ImageEntry[] {
  const byPath = new Map<string, ImageEntry>()
  for (const { path: at } of entries) {
    for (const above of directoriesAbove(at)) byPath.set(above, directoryEntry(above))
  }
  // After those, so that a directory that is given keeps its mode and owner.
  for (const entry of entries) byPath.set(entry.path, entry)
  return [...byPath.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

export function sizeOf(entries: readonly ImageEntry[]): number {
  return entries.reduce((sum, entry) => sum + (entry.kind === 'file' ? entry.size : 0), 0)
}

function directoriesAbove(at: string): string[] {
  const parts = at.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
