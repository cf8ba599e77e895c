import { copyFile, link, mkdir, open, readdir, readFile, rm, rmdir } from 'node:fs/promises'
import path from 'node:path'
import { isMissing } from '../model-folders.ts'

/** The paths of all files below a folder, relative to it, with `/`, in order. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .map((file) => file.split(path.sep).join('/'))
    .toSorted()
}

/** Makes the contents of a file, or the names in a folder, durable. */
export async function syncToDisk(fileOrFolder: string): Promise<void> {
  await using handle = await open(fileOrFolder, 'r')
  await handle.sync()
}

/** Replaces `to` by a hard link or a copy. Because of the link, neither file may be changed in place. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  await mkdir(path.dirname(to), { recursive: true })
  await rm(to, { force: true })
  try {
    await link(from, to)
  } catch {
    await copyFile(from, to) // a file system without links
  }
}

/** The text of a file; empty for a missing file. */
export async function readIfThere(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (isMissing(error)) return ''
    throw error
  }
}

/** Removes a folder if it exists and is empty. */
export async function removeIfEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder)
  } catch (error) {
    if (!isMissing(error) && !isFilled(error)) throw error
  }
}

function isFilled(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOTEMPTY'
}
