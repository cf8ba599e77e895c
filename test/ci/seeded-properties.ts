// Loaded by mocha before all tests: `QUARRY_TEST_SEED` is the seed of every property of fast-check, too.

import * as fc from 'fast-check'
import { env } from 'node:process'

const text = env['QUARRY_TEST_SEED']
if (text !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(text) })
