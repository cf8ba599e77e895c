// The tests in one command, with one line at the end that counts them.
//
//   npm test                     what a change needs while it is made: minutes on two idle cores
//   npm run test:all             everything: that, and what is long (test/ci/shares.ts has the list)
//   npm run test:all -- --rest   what `npm test` leaves out
//   npm test -- ARGUMENTS        what mocha makes of them, in one process
//
// The checks run first, all at once. The tests run in two processes side by side, each of which takes the next
// share of the files when it has done one; those that measure run at last and alone. Each line says how much of what
// is expected to take time is done.
//
// Tests that choose at random take one seed, the same in each run, so that a failure is due to a change. The long
// runs (`npm run test:seeds`, `npm run test:soak`) look for what other seeds find.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { runMocha, runProgram, type Counts } from './ci/mocha-process.ts'
import {
  divideTests,
  filesInScope,
  longFilesMissingFrom,
  type Scope,
  type Share,
} from './ci/shares.ts'

interface Step {
  readonly name: string
  readonly command: readonly [string, ...string[]]
}

const ROOT = path.resolve(import.meta.dirname, '..')
const MINUTE_MS = 60_000
const CHECK_LIMIT_MS = 10 * MINUTE_MS
/** Four times what the longest share takes, on a machine that is five times as busy as usual. */
const TESTS_LIMIT_MS = 30 * MINUTE_MS

const CHECKS: readonly Step[] = [
  { name: 'types', command: ['tsc'] },
  { name: 'lint', command: ['oxlint', '--deny-warnings'] },
  { name: 'format', command: ['prettier', '--check', '--log-level', 'warn', '.'] },
]

const TEST_FILES = 'test/{unit,tidy,conformance,contract,integration}/**/*.test.ts'

const ALL_PORTS = '18000-31999'
/** Each process has ports of its own: the other one may take a port between its check and its use. */
const PORTS_OF_PROCESS = ['18000-24999', '25000-31999']

const SEED = { QUARRY_TEST_SEED: process.env['QUARRY_TEST_SEED'] ?? '1' }

const total = { passed: 0, failed: 0 }

function count({ passed, failed }: Counts): void {
  total.passed += passed
  total.failed += failed
}

async function runCheck({ name, command }: Step): Promise<void> {
  const ok = (await runProgram(command, { limitMs: CHECK_LIMIT_MS })) === 'passed'
  process.stdout.write(`${ok ? 'ok  ' : 'FAIL'} ${name}\n`)
  count(ok ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 })
}

interface Lane {
  readonly ports: string
  readonly tell: (share: Share, line: string) => void
}

async function runShare(share: Share, { ports, tell }: Lane): Promise<void> {
  const beganMs = performance.now()
  const env = { ...SEED, QUARRY_TEST_PORTS: ports }
  const counts = await runMocha({ files: share.files, env, limitMs: TESTS_LIMIT_MS })
  count(counts)
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(0)
  const [first = ''] = share.files
  const others = share.files.length === 1 ? '' : ` and ${share.files.length - 1} more`
  tell(
    share,
    `${counts.failed === 0 ? 'ok  ' : 'FAIL'} ${first}${others}: ` +
      `${counts.passed} passed, ${counts.failed} failed, ${seconds} s`,
  )
}

/** Prints lines with the part of all expected seconds that is done. */
function progressOver(shares: readonly Share[]): Lane['tell'] {
  const allSeconds = shares.reduce((sum, { seconds }) => sum + seconds, 0)
  let doneSeconds = 0
  return (share, line) => {
    doneSeconds += share.seconds
    const percent = Math.floor((100 * doneSeconds) / allSeconds)
    process.stdout.write(`${String(percent).padStart(3)} % ${line}\n`)
  }
}

async function runTests(scope: Scope): Promise<void> {
  const all = globSync(TEST_FILES, { cwd: ROOT })
  const missing = longFilesMissingFrom(all)
  if (missing.length > 0) {
    process.stdout.write(
      `FAIL test/ci/shares.ts names files that are not there: ${missing.join(', ')}\n`,
    )
    count({ passed: 0, failed: 1 })
  }
  const textOf = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
  const { sideBySide, alone } = divideTests(filesInScope(all, scope), textOf)
  const waiting = [...sideBySide]
  const tell = progressOver([...sideBySide, alone])
  const lanes = PORTS_OF_PROCESS.map(async (ports) => {
    for (let share = waiting.shift(); share !== undefined; share = waiting.shift()) {
      await runShare(share, { ports, tell })
    }
  })
  await Promise.all(lanes)
  if (alone.files.length > 0) await runShare(alone, { ports: ALL_PORTS, tell })
}

const SCOPE_BY_FLAG: Readonly<Record<string, Scope>> = { '--all': 'all', '--rest': 'rest' }

const args = process.argv.slice(2)
const flags = args.filter((arg) => Object.hasOwn(SCOPE_BY_FLAG, arg))
const mochaArgs = args.filter((arg) => !flags.includes(arg))
// The last flag decides: `npm run test:all -- --rest` gives both.
const scope = SCOPE_BY_FLAG[flags.at(-1) ?? ''] ?? 'quick'
if (scope !== 'rest') await Promise.all(CHECKS.map(runCheck))
if (mochaArgs.length === 0) await runTests(scope)
else {
  const namesFiles = mochaArgs.some((arg) => globSync(arg, { cwd: ROOT }).length > 0)
  const files = namesFiles ? [] : globSync(TEST_FILES, { cwd: ROOT })
  count(await runMocha({ args: mochaArgs, files, env: SEED, limitMs: TESTS_LIMIT_MS }))
}
process.stdout.write(`\n${total.passed} passed, ${total.failed} failed\n`)
process.exitCode = total.failed === 0 ? 0 : 1
