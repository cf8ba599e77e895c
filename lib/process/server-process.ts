// What a server asks of its process: where its log goes, and how it ends.

import { pino } from 'pino'
import type { Log, LogLevel } from '../log.ts'
import { EXIT } from './exit-codes.ts'

const STANDARD_ERROR = 2

/** Lines of JSON on standard error. Synchronous, so that the last line before an end is there. */
export function openServerLog(level: LogLevel): Log {
  const lines = pino({ level }, pino.destination({ dest: STANDARD_ERROR, sync: true }))
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
  log.error('the process ends', { error: error.stack })
  setImmediate(() => process.exit(EXIT.internal))
}
