// The tests that need a Kubernetes, in one command, with one line at the end that counts them.
//
//   npm run test:operator               tier api: test/e2e/api, without any pod
//   npm run test:e2e                    tier node: test/e2e/node, on three nodes
//   npm run test:e2e -- --short         without the files named *.long.test.ts
//   npm run test:e2e -- ARGUMENTS       what mocha makes of them
//
// A tier that is up is used and left up; one that is started here is ended here, unless QUARRY_E2E_KEEP=1. Files of tier api run
// side by side (turns.ts).

import { existsSync, globSync } from 'node:fs'
import path from 'node:path'
import { runMocha } from '../ci/mocha-process.ts'
import { turnsOf, type Turns } from './turns.ts'
import { closeTier, isTierUp, openTier, otherKubeconfig, type TierName } from './support/tier.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const LONG = /\.long\.test\.ts$/
const HOUR_MS = 3_600_000
/** They mostly wait, and leave the processors to what runs beside them. */
const PROCESSES = 2
const TESTS_LIMIT_MS: Readonly<Record<TierName, number>> = { api: HOUR_MS, node: 4 * HOUR_MS }

function isTierName(name: string | undefined): name is TierName {
  return name === 'api' || name === 'node'
}

const [tierName, ...given] = process.argv.slice(2)
if (!isTierName(tierName)) throw new Error('node test/e2e/run.ts api|node [--short] [ARGUMENTS]')

const isShort = given.includes('--short')
const args = given.filter((arg) => arg !== '--short')
const namesFiles = args.some((arg) => existsSync(path.join(ROOT, arg)))
const files = namesFiles
  ? []
  : globSync(`test/e2e/${tierName}/**/*.test.ts`, { cwd: ROOT })
      .filter((file) => !isShort || !LONG.test(file))
      .toSorted()

const isOurs =
  otherKubeconfig() === undefined &&
  process.env['QUARRY_E2E_KEEP'] !== '1' &&
  !(await isTierUp(tierName))
const counts = { passed: 0, failed: 0 }
try {
  await openTier(tierName)
  if (namesFiles) await run(tierName, [])
  else await inTurns(tierName, turnsOf(tierName, files))
} catch (error) {
  counts.failed += 1
  throw error
} finally {
  if (isOurs) await closeTier(tierName)
  process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed\n`)
  process.exitCode = counts.failed === 0 ? 0 : 1
}

async function inTurns(tier: TierName, { sideBySide, alone }: Turns): Promise<void> {
  const waiting = [...sideBySide]
  const next = async (): Promise<void> => {
    for (let share = waiting.shift(); share !== undefined; share = waiting.shift()) {
      await run(tier, share)
    }
  }
  await Promise.all(Array.from({ length: PROCESSES }, next))
  // Another cluster is used and not changed.
  if (alone.length > 0 && otherKubeconfig() === undefined) await run(tier, alone)
}

async function run(tier: TierName, share: readonly string[]): Promise<void> {
  const { passed, failed } = await runMocha({ files: share, args, limitMs: TESTS_LIMIT_MS[tier] })
  counts.passed += passed
  counts.failed += failed
}
