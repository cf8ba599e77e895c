// `npm test`: everything that must hold, in one command, with one line at the end that counts it.
//
// The checks run one after the other. The tests run in two processes side by side, each of which takes the next
// share of the files when it has done one; those that measure run at last and alone. With arguments, which go to
// mocha, one process runs what they say.
//
// Tests that choose at random take one seed, the same in each run, so that a failure is due to a change. The long
// runs (`npm run test:seeds`, `npm run test:soak`) look for what other seeds find.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { runMocha, runProgram, type Counts } from './ci/mocha-process.ts'
import { divideTests, type Share } from './ci/shares.ts'

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

async function runShare(share: Share, ports: string): Promise<void> {
  const beganMs = performance.now()
  const env = { ...SEED, QUARRY_TEST_PORTS: ports }
  const counts = await runMocha({ files: share.files, env, limitMs: TESTS_LIMIT_MS })
  count(counts)
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(0)
  const [first = ''] = share.files
  const others = share.files.length === 1 ? '' : ` and ${share.files.length - 1} more`
  process.stdout.write(
    `${counts.failed === 0 ? 'ok  ' : 'FAIL'} ${first}${others}: ` +
      `${counts.passed} passed, ${counts.failed} failed, ${seconds} s\n`,
  )
}

async function runAllTests(): Promise<void> {
  const files = globSync(TEST_FILES, { cwd: ROOT })
  const textOf = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
  const { sideBySide, alone } = divideTests(files, textOf)
  const waiting = [...sideBySide]
  const lanes = PORTS_OF_PROCESS.map(async (ports) => {
    for (let share = waiting.shift(); share !== undefined; share = waiting.shift()) {
      await runShare(share, ports)
    }
  })
  await Promise.all(lanes)
  if (alone.files.length > 0) await runShare(alone, ALL_PORTS)
}

for (const check of CHECKS) await runCheck(check)
const args = process.argv.slice(2)
if (args.length === 0) await runAllTests()
else {
  const namesFiles = args.some((arg) => globSync(arg, { cwd: ROOT }).length > 0)
  const files = namesFiles ? [] : globSync(TEST_FILES, { cwd: ROOT })
  count(await runMocha({ args, files, env: SEED, limitMs: TESTS_LIMIT_MS }))
}
process.stdout.write(`\n${total.passed} passed, ${total.failed} failed\n`)
process.exitCode = total.failed === 0 ? 0 : 1
