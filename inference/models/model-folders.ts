// The layout of a models directory, for the server and for `quarry models`:
//
//   MODELS_DIR/<folder of the kind>/<name>/      MODELS_DIR/<folder of the kind>/<owner>/<name>/

import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import type { ServiceError } from '../../lib/errors.ts'
import { refuse } from './model-files.ts'
import { FOLDER_BY_KIND } from './model-spec.ts'
import type { ModelKind } from './model-spec.ts'

/** Folders that belong to a model. They are not models of an owner. */
const OWN_FOLDERS: ReadonlySet<string> = new Set(['onnx', '1_Pooling', '2_Normalize', '2_Dense'])

/** Called for an unreadable directory. `name` is within the folder of its kind; '' is that folder. */
export type OnUnreadable = (name: string, error: ServiceError) => void

/**
 * The names of a kind's models in order, each of one or two parts. A directory without a model's files
 * counts as an owner's folder. A missing folder has no models.
 */
export async function modelNamesIn(
  root: string,
  kind: ModelKind,
  onUnreadable: OnUnreadable,
): Promise<string[]> {
  const folder = path.join(root, FOLDER_BY_KIND[kind])
  const names: string[] = []
  for (const name of await foldersIn(folder, '', onUnreadable)) {
    // An unreadable directory counts as a model, so that reading it reports the reason.
    const isModel = await holdsModel(path.join(folder, name)).catch(() => true)
    const inner = isModel ? [] : await foldersIn(folder, name, onUnreadable)
    const owned = inner.filter((each) => !OWN_FOLDERS.has(each))
    if (owned.length === 0) names.push(name)
    else names.push(...owned.map((each) => `${name}/${each}`))
  }
  return names
}

/** Whether a directory has any files of a model, even too few to serve it. */
export async function holdsModel(directory: string): Promise<boolean> {
  const names = await readdir(directory)
  return names.some((name) => name.endsWith('.onnx') || name.endsWith('.json') || name === 'onnx')
}

/**
 * The folders in `folder/within`. Symbolic links count as their targets, and hidden folders are
 * skipped.
 */
async function foldersIn(
  folder: string,
  within: string,
  onUnreadable: OnUnreadable,
): Promise<string[]> {
  const directory = path.join(folder, within)
  const names = await readdir(directory).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') onUnreadable(within, unreadable(error))
    return []
  })
  const folders: string[] = []
  for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
    if (name.startsWith('.')) continue
    try {
      if ((await stat(path.join(directory, name))).isDirectory()) folders.push(name)
    } catch (error) {
      onUnreadable(path.posix.join(within, name), unreadable(error))
    }
  }
  return folders
}

function unreadable(cause: unknown): ServiceError {
  return refuse(`it cannot be read: ${codeOf(cause) ?? 'unknown error'}`, cause)
}

/** Whether a path exists and is a folder. Other errors of the file system reject. */
export async function isFolder(folder: string): Promise<boolean> {
  try {
    return (await stat(folder)).isDirectory()
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Whether an error means that a file is missing, or that a file is in place of a folder. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR'
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}
