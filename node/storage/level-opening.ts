// Opens a LevelDB so that it opens again after a power failure at any moment.
//
// LevelDB begins a new manifest at each opening. It syncs the manifest, renames CURRENT to name it,
// and does not sync the directory afterwards. It does not sync the very first manifest at all. But
// the sync of the second manifest makes the CURRENT durable that names the first.
//
// A CURRENT that names no manifest is damage. LevelDB says only that a file is absent.

import { readdir, readFile, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import type { ClassicLevel } from 'classic-level'
import { ServiceError } from '../../lib/errors.ts'
import { syncDirectory } from './file-replacement.ts'
import { levelError, openingError } from './level-error.ts'

const CURRENT = 'CURRENT'
const FIRST_MANIFEST = 'MANIFEST-000001\n'
const LOG = '.log'
const TABLE = /\.(?:ldb|sst)$/

/**
 * Opens `db`. After it resolves, a power failure cannot bring back an older manifest. Throws a ServiceError: CORRUPTION
 * for damaged files.
 */
export async function openLevel(db: ClassicLevel<Uint8Array, Uint8Array>): Promise<void> {
  const directory = db.location
  try {
    await open(db)
  } catch (error) {
    const isDamaged = levelError(error, directory).code === 'CORRUPTION'
    if (!isDamaged || !(await wasNeverOpened(directory))) throw error
    await rm(path.join(directory, CURRENT)) // without CURRENT, LevelDB creates a new database
    await open(db)
  }
  await syncDirectory(directory)
}

async function open(db: ClassicLevel<Uint8Array, Uint8Array>): Promise<void> {
  const directory = db.location
  try {
    await db.open()
  } catch (error) {
    const found = openingError(error, directory)
    if (found.code !== 'UNAVAILABLE' || (await namesManifest(directory))) throw found
    throw new ServiceError(
      'CORRUPTION',
      `${path.join(directory, CURRENT)} is damaged: it names no manifest; ` +
        'restore the directory from a replica or a backup',
      { cause: error },
    )
  }
}

/** True where CURRENT cannot be read, too: the reason is another one then. */
async function namesManifest(directory: string): Promise<boolean> {
  try {
    const [names, manifest] = await Promise.all([
      readdir(directory),
      readFile(path.join(directory, CURRENT), 'latin1'),
    ])
    return manifest.endsWith('\n') && names.includes(manifest.slice(0, -1))
  } catch {
    return true
  }
}

/** A power failure interrupted the first opening, so the store has no writes yet. */
async function wasNeverOpened(directory: string): Promise<boolean> {
  const names = await readdir(directory)
  if (!names.includes(CURRENT) || names.some((name) => TABLE.test(name))) return false
  const manifest = await readFile(path.join(directory, CURRENT), 'latin1')
  if (manifest !== FIRST_MANIFEST) return false
  const logs = names.filter((name) => name.endsWith(LOG))
  const sizes = await Promise.all(logs.map((name) => stat(path.join(directory, name))))
  return sizes.every(({ size }) => size === 0)
}
