// On what, and with what, the figures were measured: without it they mean nothing.

import { execFile } from 'node:child_process'
import { open, readFile, statfs } from 'node:fs/promises'
import { cpus, release, totalmem } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { must } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { median } from './statistics.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const SYNC_ROUNDS = 300
const SYNC_BYTES = 4096
const TMPFS_MAGIC = 0x01021994
const GIB = 1024 ** 3

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGiB: number
  readonly linux: string
  readonly node: string
  /** Median of a 4 KiB write followed by fdatasync, in the folder of the measurements. */
  readonly fdatasyncMs: number
  readonly packages: Readonly<Record<string, string>>
  readonly commit: string
}

export interface MachineQuestion {
  readonly directory: string
  readonly packages: readonly string[]
  readonly clock: Clock
}

export async function describeMachine(question: MachineQuestion): Promise<Machine> {
  const { directory, packages, clock } = question
  const processors = cpus()
  const versions = packages.map(async (name) => [name, await packageVersion(name)] as const)
  return {
    cpu: must(processors[0], 'processor').model,
    cores: processors.length,
    memoryGiB: Math.round(totalmem() / GIB),
    linux: release(),
    node: process.version,
    fdatasyncMs: await measureSync(directory, clock),
    packages: Object.fromEntries(await Promise.all(versions)),
    commit: await currentCommit(),
  }
}

/** On a file system in memory a sync costs nothing, and every durable figure would be a lie. */
export async function requireRealDisk(directory: string): Promise<void> {
  const { type } = await statfs(directory)
  if (type !== TMPFS_MAGIC) return
  throw new Error(`${directory} lies in memory; choose a folder on a disk with --directory`)
}

async function measureSync(directory: string, clock: Clock): Promise<number> {
  await using file = await open(path.join(directory, 'sync-probe'), 'w')
  const block = Buffer.alloc(SYNC_BYTES, 'q')
  const times: number[] = []
  for (let round = 0; round < SYNC_ROUNDS; round += 1) {
    const startMs = clock.monotonicMs()
    await file.write(block, 0, SYNC_BYTES, round * SYNC_BYTES)
    await file.datasync()
    times.push(clock.monotonicMs() - startMs)
  }
  return median(times)
}

async function packageVersion(name: string): Promise<string> {
  const text = await readFile(path.join(ROOT, 'node_modules', name, 'package.json'), 'utf8')
  return String(JSON.parse(text).version)
}

async function currentCommit(): Promise<string> {
  try {
    const commit = await git('rev-parse', '--short=12', 'HEAD')
    const changes = await git('status', '--porcelain')
    return commit + (changes === '' ? '' : ' with uncommitted changes')
  } catch {
    return 'unknown' // an archive of the sources has no history
  }
}

async function git(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, { cwd: ROOT })
  return stdout.trim()
}
