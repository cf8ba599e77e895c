// Mocha's dot-free reporter for `npm test`: prints suites that fail and slow ones, and leaves the
// counts in a file for test/run.ts. CommonJS, because mocha loads reporters by require.

const { writeFileSync } = require('node:fs')
const { reporters, Runner } = require('mocha')

const SLOW_MS = 2000

class CountingReporter extends reporters.Base {
  constructor(runner, options) {
    super(runner, options)
    const { EVENT_TEST_PASS, EVENT_TEST_FAIL, EVENT_RUN_END } = Runner.constants
    runner.on(EVENT_TEST_PASS, (test) => {
      if (test.duration > SLOW_MS) print(`ok   ${test.fullTitle()} (${test.duration} ms)`)
    })
    runner.on(EVENT_TEST_FAIL, (test) => print(`FAIL ${test.fullTitle()}`))
    runner.on(EVENT_RUN_END, () => {
      this.epilogue()
      writeFileSync(options.reporterOption.output, JSON.stringify({ stats: this.stats }))
    })
  }
}

function print(line) {
  process.stdout.write(`${line}\n`)
}

module.exports = CountingReporter
