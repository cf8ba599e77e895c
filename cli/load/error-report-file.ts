// The file with the rejected documents of a load.
//
// Invariants:
//   ER1  After a load the file under the report's name is that of this load: if nothing was rejected,
//        there is none.
//   ER2  What was there before is kept under a name with a number, unless this load has read all of
//        it and it was a report: then every document in it was loaded, or is in the new report.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { constants, createWriteStream } from 'node:fs'
import type { WriteStream } from 'node:fs'
import { copyFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { finished } from 'node:stream/promises'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { messageOf } from '../../lib/errors.ts'
import { CliError } from '../process/exit.ts'
import { memberOf } from '../service/service-answers.ts'
import { formatRejection } from './error-report.ts'
import type { Rejection } from './error-report.ts'

const KEPT_MAX = 1000
const EXTENSION = '.errors.ndjson'

/**
 * What the load did with the file that had the report's name before: nothing, read all of it as a
 * report, or read some of it and was stopped.
 */
export type EarlierReport = 'untouched' | 'read' | 'partly read'

export interface PlacedReport {
  /** Undefined: nothing was rejected. */
  readonly path: string | undefined
  /** Where the earlier file is now; undefined if it was not moved. */
  readonly keptPath: string | undefined
}

export class ErrorReportFile {
  readonly #path: string
  readonly #partialPath: string
  #stream: WriteStream | undefined
  #failure: Error | undefined
  #count = 0

  constructor(place: string) {
    this.#path = place
    // Of this load alone: another one may run beside it.
    this.#partialPath = `${place}.${randomUUID().slice(0, 8)}.partial`
  }

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

  /** The file appears under its name only now that it is whole: it may be the one that was loaded. */
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
      // What it still has is loaded again from its beginning, and rejected again.
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
    const remedy = 'name another file for rejected documents with --errors'
    const message = `cannot write ${this.#path}: ${messageOf(cause)}; ${remedy}`
    return new CliError(EXIT.refused, 'FILE', message, { cause })
  }
}

/** Copies the file to the first free name with a number; undefined if there is no such file. */
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
  throw new RangeError(`there are ${KEPT_MAX} earlier reports beside it`)
}

function numbered(place: string, number: number): string {
  const extension = place.endsWith(EXTENSION) ? EXTENSION : path.extname(place)
  return `${place.slice(0, place.length - extension.length)}.${number}${extension}`
}
