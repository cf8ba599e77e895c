import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { InvariantError } from '../../../lib/assert.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')

/** A line of a core's text, and the line that replaces it in a copy. */
export interface Defect {
  readonly file: string
  readonly text: string
  readonly instead: string
}

/**
 * Copies a folder with a defect in it, beside links to the folders that it imports. Answers how its modules
 * are loaded. Fails when the text is not there once.
 */
export function defectiveCopy(
  core: string,
  linked: readonly string[],
  { file, text, instead }: Defect,
): (name: string) => ReturnType<typeof importUrl> {
  const root = mkdtempSync(path.join(tmpdir(), 'quarry-defect-'))
  cpSync(path.join(ROOT, core), path.join(root, core), { recursive: true })
  for (const folder of linked) {
    mkdirSync(path.join(root, path.dirname(folder)), { recursive: true })
    symlinkSync(path.join(ROOT, folder), path.join(root, folder))
  }
  const target = path.join(root, core, file)
  const parts = readFileSync(target, 'utf8').split(text)
  if (parts.length !== 2) throw new InvariantError(`${file} has not once: ${text}`)
  writeFileSync(target, parts.join(instead))
  return (name) => importUrl(pathToFileURL(path.join(root, core, name)).href)
}

function importUrl(url: string) {
  return import(url)
}
