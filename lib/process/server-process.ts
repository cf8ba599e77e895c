// What a server asks of its process: where its log goes, what is installed here, and how it ends.

import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { pino } from 'pino'
import type { InvariantError } from '../assert.ts'
import type { Log, LogLevel } from '../log.ts'

const MANIFEST = path.resolve(import.meta.dirname, '../../package.json')
const STANDARD_ERROR = 2
/** EX_SOFTWARE of sysexits.h. */
const EXIT_INVARIANT_BROKEN = 70

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

/** A broken invariant means that memory can no longer be trusted; what is on disk still can. */
export function endProcess(log: Log, error: InvariantError): void {
  log.error('invariant broken, the process ends', { error: error.stack })
  setImmediate(() => process.exit(EXIT_INVARIANT_BROKEN))
}

export interface Product {
  readonly version: string
  /** Nothing is built; what stands in for the time of a build is when this version was put here. */
  readonly installedAt: Date
}

export function readProduct(): Product {
  const { version }: { readonly version: string } = JSON.parse(readFileSync(MANIFEST, 'utf8'))
  return { version, installedAt: statSync(MANIFEST).mtime }
}
