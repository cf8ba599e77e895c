// What a server needs from its process: a log destination, and a way to end.

import { hostname } from 'node:os'
import { isatty } from 'node:tty'
import { pino, stdTimeFunctions } from 'pino'
import type { Clock } from '../clock.ts'
import type { Lifecycle } from '../lifecycle.ts'
import type { Log, LogLevel } from '../log.ts'
import { EXIT } from './exit-codes.ts'
import { shownLine } from './log-words.ts'

const STANDARD_ERROR = 2

/** Names the server in log lines, because store and inference may run in one process. */
export type ServerName = 'store' | 'inference' | 'operator'

/** A log whose level may be changed: what is below it is not written. */
export interface ServerLog extends Log {
  level: LogLevel
}

/**
 * Writes lines of JSON to standard error: `level` by name, `time` in ISO 8601, the server, and
 * `msg`, which is the same for equal events. On a terminal, a line has its words instead. Writing
 * is synchronous, so that the last line before an exit arrives.
 */
export function openServerLog(level: LogLevel, server: ServerName): ServerLog {
  let current = level
  const output = pino.destination({ dest: STANDARD_ERROR, sync: true })
  const lines = pino(
    {
      level,
      base: { server, pid: process.pid, hostname: hostname() },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: stdTimeFunctions.isoTime,
    },
    isatty(STANDARD_ERROR) ? { write: (line) => output.write(`${shownLine(line)}\n`) } : output,
  )
  return {
    get level() {
      return current
    },
    set level(changed) {
      current = changed
      lines.level = changed
    },
    debug: (message, fields) => lines.debug(fields, message),
    info: (message, fields) => lines.info(fields, message),
    warn: (message, fields) => lines.warn(fields, message),
    error: (message, fields) => lines.error(fields, message),
  }
}

/**
 * Ends the process after an error that it cannot survive. After a broken invariant, memory cannot
 * be trusted; after a failed sync, the disk's cache cannot. Synced data stays valid.
 */
export function endProcess(log: Log, error: Error): void {
  log.error('the process ends', { reason: error.message, error: error.stack })
  setImmediate(() => process.exit(EXIT.internal))
}

/** An end that takes longer says what it waits for, again and again. */
const SLOW_END_MS = 30_000
/** One step of an end, such as the close of all shards, may take five minutes. What it waits for beyond them will never come. */
export const END_STEP_MS_MAX = 300_000

/** What ends, and how. */
export interface EndedServer {
  readonly log: Log
  readonly clock: Pick<Clock, 'monotonicMs' | 'sleep'>
  readonly life: Lifecycle
  /** Default: the process ends as after a crash, which loses nothing that was acknowledged. */
  readonly onStuck?: (error: Error) => void
}

/**
 * Wraps the end of a server with log lines: one when it begins, with the reason, and one when it is
 * over. A second call waits for the first. While it takes long, a line every SLOW_END_MS names the step that it waits
 * for; a step that takes END_STEP_MS_MAX ends the process.
 */
export function loggedEnd(server: EndedServer): (reason?: string) => Promise<void> {
  const { log, clock, life } = server
  let ending: Promise<void> | undefined
  const run = async (reason: string): Promise<void> => {
    const beganMs = clock.monotonicMs()
    log.info('server stops', { reason })
    const over = new AbortController()
    const watching = watchEnd(server, over.signal)
    try {
      await life.close()
    } finally {
      over.abort()
      await watching
    }
    log.info('server stopped', { tookMs: Math.round(clock.monotonicMs() - beganMs) })
  }
  return (reason = 'asked to') => (ending ??= run(reason))
}

async function watchEnd(
  { log, clock, life, onStuck = (error) => endProcess(log, error) }: EndedServer,
  over: AbortSignal,
): Promise<void> {
  let seen = life.waitsFor
  let sinceMs = clock.monotonicMs()
  for (;;) {
    await clock.sleep(SLOW_END_MS, over).catch(() => undefined)
    if (over.aborted) return
    const { step, closer } = life.waitsFor
    if (step !== seen.step) sinceMs = clock.monotonicMs()
    seen = { step, closer }
    const waitedMs = Math.round(clock.monotonicMs() - sinceMs)
    log.warn('the end of the server takes long', { waitsFor: closer, waitedMs })
    if (waitedMs < END_STEP_MS_MAX) continue
    return onStuck(new Error(`the end of the server waits in vain for: ${closer}`))
  }
}
