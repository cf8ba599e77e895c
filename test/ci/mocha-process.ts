// One process of mocha, with files or arguments of its own.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')
const BIN = path.join(ROOT, 'node_modules/.bin')
const REPORTER = path.join(ROOT, 'test/reporter.cjs')
const CONFIG = path.join(ROOT, '.mocharc.json')

export interface Counts {
  readonly passed: number
  readonly failed: number
}

export interface MochaRun {
  readonly files?: readonly string[]
  /** Further arguments. */
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** A run that is not over by then is ended, and the test that it was in is named. */
  readonly limitMs: number
}

interface MochaReport {
  readonly stats: { readonly passes: number; readonly failures: number }
}

/** Ended when `limitMs` are over, without asking: it may be in an endless loop. */
export async function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  { limitMs, env = {} }: { readonly limitMs: number; readonly env?: MochaRun['env'] },
): Promise<'passed' | 'failed' | 'ended'> {
  const child = spawn(path.join(BIN, program), args, {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  })
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMs)
  const [code, signal] = await once(child, 'exit')
  clearTimeout(limit)
  if (signal === 'SIGKILL') return 'ended'
  return code === 0 ? 'passed' : 'failed'
}

/** Counts by mocha's own report; a run that left no report counts as one failure. */
export async function runMocha({
  files = [],
  args = [],
  env = {},
  limitMs,
}: MochaRun): Promise<Counts> {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'quarry-test-'))
  const report = path.join(scratch, 'report.json')
  const running = path.join(scratch, 'running')
  const outputs = `output=${report},running=${running}`
  const options = ['--reporter', REPORTER, '--reporter-option', outputs]
  try {
    const command = ['mocha', '--config', CONFIG, ...options, ...args, ...files] as const
    const end = await runProgram(command, { limitMs, env })
    if (end === 'ended') {
      process.stdout.write(`FAIL the tests were ended in "${readFileSync(running, 'utf8')}"\n`)
    }
    const { stats }: MochaReport = JSON.parse(readFileSync(report, 'utf8'))
    const silent = end !== 'passed' && stats.failures === 0 ? 1 : 0
    return { passed: stats.passes, failed: stats.failures + silent }
  } catch {
    return { passed: 0, failed: 1 }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
