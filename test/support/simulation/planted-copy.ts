import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { InvariantError } from '../../../lib/assert.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const COPIES = mkdtempSync(path.join(tmpdir(), 'quarry-defects-'))
process.once('exit', () => rmSync(COPIES, { recursive: true, force: true }))

/** A line of a file's text, and the line that replaces it in a copy. */
export interface Defect {
  readonly file: string
  readonly text: string
  readonly instead: string
}

/** The folders that are copied, and those that the copies import and that stay ours. */
export interface CopiedFolders {
  readonly copied: readonly string[]
  readonly linked: readonly string[]
}

/**
 * Copies folders, and puts a defect into the file `defect.file` of the first one. Answers how to
 * import a file of the copy. Fails if the file does not have the text exactly once.
 */
export function plantCopy(
  folders: CopiedFolders,
  defect: Defect,
): <Module>(file: string) => Promise<Module> {
  const root = plantFiles(folders, defect)
  return (name) => import(pathToFileURL(path.join(root, name)).href)
}

/** As `plantCopy`; answers where the copy is. */
export function plantFiles(
  { copied, linked }: CopiedFolders,
  { file, text, instead }: Defect,
): string {
  const root = mkdtempSync(path.join(COPIES, 'copy-'))
  for (const folder of [...copied, ...linked]) {
    mkdirSync(path.join(root, path.dirname(folder)), { recursive: true })
  }
  for (const folder of copied) {
    cpSync(path.join(ROOT, folder), path.join(root, folder), { recursive: true })
  }
  for (const folder of linked) symlinkSync(path.join(ROOT, folder), path.join(root, folder))
  const target = path.join(root, copied[0] ?? '', file)
  const parts = readFileSync(target, 'utf8').split(text)
  if (parts.length !== 2) throw new InvariantError(`${file} has not once: ${text}`)
  writeFileSync(target, parts.join(instead))
  return root
}
