// The entry of the command line program. It builds the context and passes it to runCli. bin/quarry
// starts it with Node 24.

import type { Writable } from 'node:stream'
import { systemClock } from '../lib/clock.ts'
import { EXIT } from '../lib/process/exit-codes.ts'
import { parseCliSettings } from './config.ts'
import type { CliContext } from './process/context.ts'
import { runCli } from './run-cli.ts'
import type { Output, Terminal } from './process/terminal.ts'

const COLUMNS_WITHOUT_TTY = 100
/** One Ctrl-C arrives twice, from the terminal and from the parent process, and counts once. */
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
  onHangup,
}
process.exitCode = await runCli(process.argv.slice(2), context)

function openTerminal(): Terminal {
  return {
    // Opened lazily, because most commands never read it.
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
 * Ends this process when its parent ends: the other end of the pipe then closes for any cause. It uses
 * SIGKILL, because the user who killed the parent meant this program.
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

/** `quarry scan … | head` closes our output early, which is not a failure. */
function quietBrokenPipe(stream: Writable): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok)
    throw error
  })
}

function onHangup(listener: () => void): () => void {
  process.on('SIGHUP', listener)
  return () => void process.removeListener('SIGHUP', listener)
}

/** Aborts on SIGINT or SIGTERM, with the signal's name as its reason. A second one exits at once. */
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
