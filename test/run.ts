// `npm test`: everything that must hold, in one command, with one line at the end that counts it.
//
// The steps run one after the other, because several of them measure or time-bound what they do.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, readFileSync, mkdtempSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

interface Step {
  readonly name: string
  readonly command: readonly [string, ...string[]]
}

interface MochaReport {
  readonly stats: { readonly passes: number; readonly failures: number; readonly tests: number }
}

const ROOT = path.resolve(import.meta.dirname, '..')
const BIN = path.join(ROOT, 'node_modules/.bin')
const MINUTE_MS = 60_000
/** Twice what the tests take on a busy machine of two cores. */
const TESTS_LIMIT_MS = 70 * MINUTE_MS

const CHECKS: readonly Step[] = [
  { name: 'types', command: ['tsc'] },
  { name: 'lint', command: ['oxlint', '--deny-warnings'] },
  { name: 'format', command: ['prettier', '--check', '--log-level', 'warn', '.'] },
]

/** Ended when `limitMs` are over, without asking: it may be in an endless loop. */
async function run(
  [program, ...args]: readonly [string, ...string[]],
  limitMs = 10 * MINUTE_MS,
): Promise<'passed' | 'failed' | 'ended'> {
  const child = spawn(path.join(BIN, program), args, { cwd: ROOT, stdio: 'inherit' })
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMs)
  const [code, signal] = await once(child, 'exit')
  clearTimeout(limit)
  if (signal === 'SIGKILL') return 'ended'
  return code === 0 ? 'passed' : 'failed'
}

/** Counts by mocha's own report; a run that left no report counts as one failure. */
async function runMocha(): Promise<{ passed: number; failed: number }> {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'quarry-test-'))
  const report = path.join(scratch, 'report.json')
  const reporter = path.join(import.meta.dirname, 'reporter.cjs')
  const running = path.join(scratch, 'running')
  const outputs = `output=${report},running=${running}`
  const options = ['--reporter', reporter, '--reporter-option', outputs]
  const end = await run(['mocha', ...options, ...process.argv.slice(2)], TESTS_LIMIT_MS)
  try {
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

let passed = 0
let failed = 0
for (const { name, command } of CHECKS) {
  const ok = (await run(command)) === 'passed'
  process.stdout.write(`${ok ? 'ok  ' : 'FAIL'} ${name}\n`)
  if (ok) passed++
  else failed++
}
const tests = await runMocha()
passed += tests.passed
failed += tests.failed
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exitCode = failed === 0 ? 0 : 1
