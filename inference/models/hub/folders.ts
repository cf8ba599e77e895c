import { copyFile, link, mkdir, open, readdir, readFile, rm, rmdir } from 'node:fs/promises'
import path from 'node:path'
import { isMissing } from '../model-folders.ts'

/** Paths of all files below a folder, relative to it, with `/`. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .map((file) => file.split(path.sep).join('/'))
    .toSorted()
}

/** Makes what was written to a file, or the names in a folder, survive a loss of power. */
export async function syncToDisk(fileOrFolder: string): Promise<void> {
  await using handle = await open(fileOrFolder, 'r')
  await handle.sync()
}

/** Replaces `to`. A link costs nothing; whoever changes one of the two must replace it as well. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  await mkdir(path.dirname(to), { recursive: true })
  await rm(to, { force: true })
  try {
    await link(from, to)
  } catch {
    await copyFile(from, to) // a file system without links
  }
}

/** Empty for a file that is not there. */
export async function readIfThere(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (isMissing(error)) return ''
    throw error
  }
}

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
