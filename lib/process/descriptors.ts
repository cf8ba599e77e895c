// The files that this process may have open at once. What needs one more than that fails anywhere: a store in the middle of
// its creation, a worker that loads its code, a connection. So work that opens many files asks first.

import { readdirSync, readFileSync } from 'node:fs'
import { ConfigurationError } from '../options.ts'
import { ServiceError } from '../errors.ts'

/** Kept for connections and for what opens a file for a moment: one part in KEPT_PART of the limit, at most KEPT_MAX. */
const KEPT_PART = 8
const KEPT_MAX = 512

/** Clients can take one part in CONNECTIONS_PART of the limit with their connections; the rest is for the files of tables. */
const CONNECTIONS_PART = 2

/** Undefined where the system does not tell. */
export interface OpenFiles {
  readonly limit: number
  readonly open: number
}

/** As Linux tells it. Node has raised the soft limit to the hard one. */
function readOpenFiles(): OpenFiles | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const limit = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? NaN)
    // Reading the list opens a descriptor, too.
    const open = readdirSync('/proc/self/fd').length - 1
    return Number.isNaN(limit) ? undefined : { limit, open }
  } catch {
    return undefined
  }
}

const REMEDY =
  'raise it (`ulimit -n 65536`, `LimitNOFILE=` of systemd, `--ulimit nofile=65536` of a container)'

/** Asks for each decision how many files are open. */
export class Descriptors {
  readonly #read: () => OpenFiles | undefined

  constructor(read: () => OpenFiles | undefined = readOpenFiles) {
    this.#read = read
  }

  get limit(): number | undefined {
    return this.#read()?.limit
  }

  /** The connections that clients may have at once, so that idle ones leave files for tables and workers. */
  get connectionsMax(): number | undefined {
    const limit = this.limit
    return limit === undefined ? undefined : Math.floor(limit / CONNECTIONS_PART)
  }

  /** Throws UNAVAILABLE if `files` more cannot be opened beside what requests need. */
  assertRoomFor(files: number, what: string): void {
    const found = this.#read()
    if (found === undefined) return
    const kept = Math.min(KEPT_MAX, Math.floor(found.limit / KEPT_PART))
    if (found.open + files + kept <= found.limit) return
    throw new ServiceError(
      'UNAVAILABLE',
      `${what} needs about ${files} more open files; this process has ${found.open} of the ${found.limit} ` +
        `that it may have: ${REMEDY} and start again, or drop tables`,
    )
  }

  /** Throws a ConfigurationError if a start that needs `files` cannot succeed. */
  assertStart(files: number, what: string): void {
    const found = this.#read()
    if (found === undefined || found.open + files <= found.limit) return
    throw new ConfigurationError([
      `${what} need about ${files} open files beside ${found.open} others, and this process may have ` +
        `${found.limit}: ${REMEDY} and start again`,
    ])
  }
}
