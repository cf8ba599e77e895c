import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { InvariantError } from '../../../lib/assert.ts'
import type { ReplicationTiming } from '../../../node/replication/core/timing.ts'
import { OUR_MODULES, type ReplicationModules } from './replication-modules.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const CORE = 'node/replication/core'

/** A line of the core's text, and the line that replaces it in a copy. */
export interface Defect {
  readonly file: string
  readonly text: string
  readonly instead: string
}

/** A copy of the core with a defect in it. Fails when the text is not there once. */
export async function plantDefect(
  { file, text, instead }: Defect,
  timing: Partial<ReplicationTiming> = {},
): Promise<ReplicationModules> {
  const root = mkdtempSync(path.join(tmpdir(), 'quarry-defect-'))
  mkdirSync(path.join(root, path.dirname(CORE)), { recursive: true })
  cpSync(path.join(ROOT, CORE), path.join(root, CORE), { recursive: true })
  symlinkSync(path.join(ROOT, 'lib'), path.join(root, 'lib'))
  const target = path.join(root, CORE, file)
  const parts = readFileSync(target, 'utf8').split(text)
  if (parts.length !== 2) throw new InvariantError(`${file} has not once: ${text}`)
  writeFileSync(target, parts.join(instead))
  const load = (name: string) => import(pathToFileURL(path.join(root, CORE, name)).href)
  const { LogIndex } = await load('log-index.ts')
  const { ReplicaCore } = await load('replica-core.ts')
  const { changedConfiguration } = await load('configuration.ts')
  return {
    LogIndex,
    ReplicaCore,
    changedConfiguration,
    timing: { ...OUR_MODULES.timing, ...timing },
  }
}
