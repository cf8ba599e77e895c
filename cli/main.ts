// The command line program: collects what it may touch of the world, and hands it to runCli.
// Started by bin/quarry, which makes sure that this is Node 24.

import type { Writable } from 'node:stream'
import { systemClock } from '../lib/clock.ts'
import { EXIT } from '../lib/process/exit-codes.ts'
import { parseCliSettings } from './config.ts'
import type { CliContext } from './process/context.ts'
import { runCli } from './run-cli.ts'
import type { Output, Terminal } from './process/terminal.ts'

const COLUMNS_WITHOUT_TTY = 100
/** Ctrl-C reaches us from the terminal and once more from the wrapping process: one wish, not two. */
const SIGNAL_ECHO_MS = 300

const settings = parseCliSettings(process.env)
if (settings.parentPipe !== undefined) await dieWithParent(settings.parentPipe)
quietBrokenPipe(process.stdout)
quietBrokenPipe(process.stderr)

const context: CliContext = {
  terminal: openTerminal(),
  settings,
  env: process.env,
  clock: systemClock,
  random: Math.random,
  stopSignal,
}
process.exitCode = await runCli(process.argv.slice(2), context)

function openTerminal(): Terminal {
  return {
    // Opened when somebody reads it: most commands never do.
    get stdin() {
      return process.stdin
    },
    get stdinIsTty() {
      return process.stdin.isTTY
    },
    out: openOutput(process.stdout),
    err: openOutput(process.stderr),
  }
}

function openOutput(stream: NodeJS.WriteStream): Output {
  const tty = stream.isTTY ? stream : undefined
  return {
    stream,
    isTty: tty !== undefined,
    color: tty !== undefined && !settings.noColor,
    get columns() {
      return tty?.columns ?? COLUMNS_WITHOUT_TTY
    },
  }
}

/**
 * Ends this process when the one that started it is gone: the pipe's other end closes, whatever
 * that process died of. SIGKILL, because the person who killed the parent meant this program.
 */
async function dieWithParent(descriptor: number): Promise<void> {
  const { Socket } = await import('node:net')
  const pipe = new Socket({ fd: descriptor, readable: true, writable: false })
  pipe.once('close', endAtOnce)
  pipe.once('error', endAtOnce)
  pipe.resume()
  pipe.unref()
}

function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL')
}

/** `quarry scan … | head` closes our output early: that is no failure. */
function quietBrokenPipe(stream: Writable): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok)
    throw error
  })
}

/** Aborts on SIGINT or SIGTERM, its name being the reason's message. A second one does not wait for the orderly end. */
function stopSignal(): AbortSignal {
  const stop = new AbortController()
  let firstMs: number | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    firstMs ??= systemClock.monotonicMs()
    stop.abort(new DOMException(signal, 'AbortError'))
    if (systemClock.monotonicMs() - firstMs > SIGNAL_ECHO_MS) process.exit(EXIT.interrupted)
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return stop.signal
}
