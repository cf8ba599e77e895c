// The tests that choose at random, again and again with other seeds:
//
//   npm run test:seeds -- [--rounds 20] [--unit] [FILE ...]
//
// `npm test` runs each of them with one seed, always the same. A seed that fails is printed; it repeats the
// failure: QUARRY_TEST_SEED=N npx mocha FILE

import { randomInt } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { runMocha } from '../ci/mocha-process.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const ROUND_LIMIT_MS = 30 * 60_000
const SEED_MAX = 2 ** 31 - 1

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '20' },
    unit: { type: 'boolean', default: false },
  },
})

const spec = values.unit ? 'test/unit/**/*.test.ts' : 'test/{unit,integration}/**/*.test.ts'
const files = positionals.length > 0 ? positionals : globSync(spec, { cwd: ROOT }).filter(isRandom)

const failed: number[] = []
for (let round = 0; round < Number(values.rounds); round += 1) {
  const seed = randomInt(SEED_MAX)
  const env = { QUARRY_TEST_SEED: String(seed) }
  const counts = await runMocha({ files, env, limitMs: ROUND_LIMIT_MS })
  const isGood = counts.failed === 0
  if (!isGood) failed.push(seed)
  process.stdout.write(`${isGood ? 'ok  ' : 'FAIL'} seed ${seed}: ${counts.passed} passed\n`)
}
process.stdout.write(`\nseeds that failed: ${failed.join(', ') || 'none'}\n`)
process.exitCode = failed.length === 0 ? 0 : 1

function isRandom(file: string): boolean {
  return /fast-check|parseTestSettings/.test(readFileSync(path.join(ROOT, file), 'utf8'))
}
