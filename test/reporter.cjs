// Mocha's dot-free reporter for `npm test`: prints tests that fail, slow ones, and how long slow suites
// took. It leaves the counts in a file for test/run.ts, and the title of the test that runs in another,
// which tells what hung when the run is ended from outside. CommonJS, because mocha loads reporters by require.

const { writeFileSync } = require('node:fs')
const path = require('node:path')
const { reporters, Runner } = require('mocha')

const SLOW_TEST_MS = 2000
const SLOW_SUITE_MS = 20_000
/** Connections that are kept alive end within seconds. */
const LEFT_RUNNING_MS = 30_000

class CountingReporter extends reporters.Base {
  constructor(runner, options) {
    super(runner, options)
    const { EVENT_HOOK_BEGIN, EVENT_TEST_BEGIN, EVENT_TEST_PASS, EVENT_TEST_FAIL } =
      Runner.constants
    const { EVENT_SUITE_BEGIN, EVENT_SUITE_END, EVENT_RUN_END } = Runner.constants
    const { output, running } = options.reporterOption
    const beganMs = new Map()
    const tellRunning = (runnable) => writeFileSync(running, runnable.fullTitle())
    runner.on(EVENT_TEST_BEGIN, tellRunning)
    runner.on(EVENT_HOOK_BEGIN, tellRunning)
    runner.on(EVENT_TEST_PASS, (test) => {
      if (test.duration > SLOW_TEST_MS) print(`ok   ${test.fullTitle()} (${test.duration} ms)`)
    })
    runner.on(EVENT_TEST_FAIL, (test, error) => {
      // At once and not only in the epilogue, which a run that is cut off never reaches.
      print(`FAIL ${test.fullTitle()}\n     ${error?.stack ?? error}`)
    })
    runner.on(EVENT_SUITE_BEGIN, (suite) => beganMs.set(suite, performance.now()))
    runner.on(EVENT_SUITE_END, (suite) => {
      const ms = performance.now() - beganMs.get(suite)
      beganMs.delete(suite)
      if (suite.parent?.root && ms > SLOW_SUITE_MS) {
        print(`     ${suite.title}: ${seconds(ms)} (${path.relative('.', suite.file)})`)
      }
    })
    runner.on(EVENT_RUN_END, () => {
      if (this.stats.failures > 0) this.epilogue()
      writeFileSync(output, JSON.stringify({ stats: this.stats }))
      failIfLeftRunning()
      endWithoutCleanup()
    })
  }
}

/** The process ends by itself unless a test has left something running: a server, a timer, a child. */
function failIfLeftRunning() {
  setTimeout(failForLeftovers, LEFT_RUNNING_MS).unref()
}

/** A handle that Node cannot close lets its cleanup at a natural end run without end. Nothing is left to clean up. */
function endWithoutCleanup() {
  process.once('beforeExit', () => process.exit())
}

function failForLeftovers() {
  print(`FAIL the tests left something running: ${process.getActiveResourcesInfo().join(', ')}`)
  // After mocha's own listener, which sets the code by the tests alone.
  process.once('exit', () => (process.exitCode = 1))
  process.exit()
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(0)} s`
}

function print(line) {
  process.stdout.write(`${line}\n`)
}

module.exports = CountingReporter
