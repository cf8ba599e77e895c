// The file with the rejected documents of a load.
//
// Invariants:
//   ER1  After a load, the file with the report's name belongs to this load. If no document was
//        rejected, the file does not exist.
//   ER2  An earlier file is kept under a name with a number. It is removed only if it was a report and
//        this load has read all of it: then each of its documents was loaded or is in the new report.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { constants, createWriteStream } from 'node:fs'
import type { WriteStream } from 'node:fs'
import { copyFile, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { finished } from 'node:stream/promises'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { messageOf } from '../../lib/errors.ts'
import { CliError, usageError } from '../process/exit.ts'
import { memberOf } from '../service/service-answers.ts'
import { formatRejection } from './error-report.ts'
import type { Rejection } from './error-report.ts'

const KEPT_MAX = 1000
const EXTENSION = '.errors.ndjson'

/** How much of the earlier file with the report's name the load has read as a report. */
export type EarlierReport = 'untouched' | 'read' | 'partly read'

/** The places of the files after a load. */
export interface PlacedReport {
  /** The report; undefined: no document was rejected. */
  readonly path: string | undefined
  /** The new path of the earlier file; undefined if it was not moved. */
  readonly keptPath: string | undefined
}

/**
 * Writes the report of one load. It writes to a temporary file until `close`. Failures of the file
 * system reject with a CliError.
 */
export class ErrorReportFile {
  readonly #path: string
  readonly #partialPath: string
  #stream: WriteStream | undefined
  #failure: Error | undefined
  #count = 0

  constructor(place: string) {
    this.#path = place
    // A unique name, because another load may run at the same time.
    this.#partialPath = `${place}.${randomUUID().slice(0, 8)}.partial`
  }

  /** Appends one document. */
  async add(rejection: Rejection): Promise<void> {
    const stream = (this.#stream ??= this.#create())
    this.#count += 1
    if (this.#failure !== undefined) throw this.#explain(this.#failure)
    try {
      if (!stream.write(formatRejection(rejection))) await once(stream, 'drain')
    } catch (cause) {
      throw this.#explain(cause)
    }
  }

  /** Gives the complete file its name. It could not have it before, because the load may read that file. */
  async close(earlier: EarlierReport): Promise<PlacedReport> {
    try {
      return await this.#place(earlier)
    } catch (cause) {
      throw this.#explain(cause)
    }
  }

  async #place(earlier: EarlierReport): Promise<PlacedReport> {
    if (this.#stream !== undefined) {
      this.#stream.end()
      await finished(this.#stream)
    }
    if (earlier === 'partly read') {
      // The earlier report stays. The next load reads it from the beginning and rejects the same.
      await rm(this.#partialPath, { force: true })
      return { path: this.#count > 0 ? this.#path : undefined, keptPath: undefined }
    }
    const keptPath = earlier === 'untouched' ? await keepFile(this.#path) : undefined
    if (this.#count > 0) await rename(this.#partialPath, this.#path)
    else await rm(this.#path, { force: true })
    return { path: this.#count > 0 ? this.#path : undefined, keptPath }
  }

  #create(): WriteStream {
    const stream = createWriteStream(this.#partialPath, { flags: 'wx' })
    stream.on('error', (error) => (this.#failure = error))
    return stream
  }

  #explain(cause: unknown): CliError {
    const remedy = 'choose another file for rejected documents with --errors'
    const message = `cannot write ${this.#path}: ${messageOf(cause)}; ${remedy}`
    return new CliError(EXIT.refused, 'FILE', message, { cause })
  }
}

/**
 * Refuses a path of a device or a directory. A report replaces the file that has its path, and run by
 * root a load would replace the device /dev/null, which all programs of the machine use.
 */
export async function refuseOtherThanFile(place: string): Promise<void> {
  const stats = await stat(place).catch(() => undefined)
  if (stats === undefined || stats.isFile()) return
  const what = stats.isDirectory() ? 'a directory' : 'no regular file'
  throw usageError(`--errors ${place} is ${what}: name a file, which may be absent`)
}

/** Copies the file to the first free name with a number; undefined if the file does not exist. */
async function keepFile(place: string): Promise<string | undefined> {
  for (let number = 1; number <= KEPT_MAX; number += 1) {
    const kept = numbered(place, number)
    try {
      await copyFile(place, kept, constants.COPYFILE_EXCL)
      return kept
    } catch (error) {
      const code = memberOf(error, 'code')
      if (code === 'ENOENT') return undefined
      if (code !== 'EEXIST') throw error
    }
  }
  throw new RangeError(`its folder holds ${KEPT_MAX} earlier reports`)
}

function numbered(place: string, number: number): string {
  const extension = place.endsWith(EXTENSION) ? EXTENSION : path.extname(place)
  return `${place.slice(0, place.length - extension.length)}.${number}${extension}`
}
