// What a server asks of its process: where its log goes, and how it ends.

import { hostname } from 'node:os'
import { pino, stdTimeFunctions } from 'pino'
import type { Clock } from '../clock.ts'
import type { Log, LogLevel } from '../log.ts'
import { EXIT } from './exit-codes.ts'

const STANDARD_ERROR = 2

/** Whose lines they are: both servers may run in one process. */
export type ServerName = 'store' | 'inference'

/**
 * Lines of JSON on standard error: `level` by name, `time` in ISO 8601, the server, and `msg`, which
 * is the same for equal events. Synchronous, so that the last line before an end is there.
 */
export function openServerLog(level: LogLevel, server: ServerName): Log {
  const lines = pino(
    {
      level,
      base: { server, pid: process.pid, hostname: hostname() },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: stdTimeFunctions.isoTime,
    },
    pino.destination({ dest: STANDARD_ERROR, sync: true }),
  )
  return {
    debug: (message, fields) => lines.debug(fields, message),
    info: (message, fields) => lines.info(fields, message),
    warn: (message, fields) => lines.warn(fields, message),
    error: (message, fields) => lines.error(fields, message),
  }
}

/**
 * For what no process goes on after: a broken invariant, where memory can no longer be trusted, and
 * a failed sync, where the disk's cache cannot. What is synced still can.
 */
export function endProcess(log: Log, error: Error): void {
  log.error('the process ends', { reason: error.message, error: error.stack })
  setImmediate(() => process.exit(EXIT.internal))
}

/**
 * The end of a server, told by its log: a line when it begins, with the reason, and one when it is over.
 * Whoever asks a second time waits for the first end.
 */
export function toldEnd(
  log: Log,
  clock: Pick<Clock, 'monotonicMs'>,
  end: () => Promise<void>,
): (reason?: string) => Promise<void> {
  let ending: Promise<void> | undefined
  const run = async (reason: string): Promise<void> => {
    const beganMs = clock.monotonicMs()
    log.info('server stops', { reason })
    await end()
    log.info('server stopped', { tookMs: Math.round(clock.monotonicMs() - beganMs) })
  }
  return (reason = 'asked to') => (ending ??= run(reason))
}
