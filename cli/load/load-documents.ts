// Loads every document of a source into a table, and reports the result.

import path from 'node:path'
import type { ApiClient, ServiceRefusal } from '../service/api-client.ts'
import type { CliContext } from '../process/context.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError } from '../process/exit.ts'
import { BatchWriter } from './batch-writer.ts'
import type { Rejection } from './error-report.ts'
import { ErrorReportFile } from './error-report-file.ts'
import type { EarlierReport } from './error-report-file.ts'
import { LoadProgress } from './load-progress.ts'
import type { LoadCounts } from './load-progress.ts'
import type { DocumentSource, SourceDocument, UnreadableDocument } from './document-source.ts'
import { untilStopped } from './until-stopped.ts'

/** Where and how documents are loaded. */
export interface LoadOptions {
  readonly client: ApiClient
  readonly table: string
  readonly batchSize: number
  readonly concurrency: number
  readonly errorsPath: string
  /** True: prints no messages about retries, because a program reads the output. */
  readonly isQuiet: boolean
  /** Ctrl-C: no further document is read, and those that were read are written. */
  readonly stop: AbortSignal
}

/** The result of a load, also of one that ended early. */
export interface LoadResult {
  readonly loaded: number
  readonly rejected: number
  /** The bytes of the loaded documents. */
  readonly bytes: number
  readonly tookMs: number
  /** The file of the rejected documents; undefined when none was rejected. */
  readonly errorsPath: string | undefined
  /** The new path of an earlier load's errors file; undefined if it was not moved. */
  readonly earlierErrorsPath: string | undefined
  /** The rejection with the lowest line. */
  readonly firstRejection: FirstRejection | undefined
  /** An early end, in which the documents of the lines behind `afterLine` were not loaded. */
  readonly stopped: EarlyEnd | undefined
}

/**
 * Interrupted: every document up to the line is loaded or rejected. Otherwise the service is unreachable, or it refuses
 * every batch, and some documents before the line may be missing.
 */
export interface EarlyEnd {
  readonly afterLine: number
  readonly isInterrupted: boolean
  readonly cause: unknown
}

/** A rejected document without its bytes. */
export interface FirstRejection {
  readonly line: number
  readonly key: string | undefined
  readonly error: string
  readonly code: string
}

/** Loads all documents. Failures are part of the result, except those of the error report's file. */
export async function loadDocuments(
  source: DocumentSource,
  options: LoadOptions,
  context: CliContext,
): Promise<LoadResult> {
  const { clock, random, terminal } = context
  const startedMs = clock.monotonicMs()
  const counts: LoadCounts = { loaded: 0, rejected: 0, bytes: 0 }
  const report = new ErrorReportFile(options.errorsPath)
  const progress = new LoadProgress({ source, counts }, { output: terminal.err, clock })
  let firstRejection: FirstRejection | undefined
  const reject = async (rejection: Rejection): Promise<void> => {
    counts.rejected += 1
    progress.update()
    const { line, key, error, code } = rejection
    // Batches are answered in any order, so the first refusal need not have the lowest line.
    if (line < (firstRejection?.line ?? Infinity)) firstRejection = { line, key, error, code }
    await report.add(rejection)
  }
  const writer = new BatchWriter({
    client: options.client,
    table: options.table,
    batchSize: options.batchSize,
    concurrency: options.concurrency,
    clock,
    random,
    onLoaded: (documents, bytes) => {
      counts.loaded += documents
      counts.bytes += bytes
      progress.update()
    },
    onRejected: (document, refusal) => reject(refusedDocument(document, refusal)),
    onTrouble: (why) => {
      if (!options.isQuiet) progress.onTrouble(why)
    },
  })

  let stopped: LoadResult['stopped']
  let line = 0
  try {
    for await (const item of untilStopped(source.items(), options.stop)) {
      if (item.kind === 'document') {
        line = item.document.line
        await writer.add(item.document)
      } else {
        line = item.unreadable.line
        await reject(unreadableDocument(item.unreadable))
      }
    }
    await writer.finish()
  } catch (cause) {
    stopped = { afterLine: line, ...(await endEarly(writer, cause, options.stop)) }
  } finally {
    await progress.stop()
  }
  const placed = await report.close(earlierReport(source, options, stopped !== undefined))
  const { path: errorsPath, keptPath: earlierErrorsPath } = placed
  const tookMs = clock.monotonicMs() - startedMs
  return { ...counts, tookMs, errorsPath, earlierErrorsPath, firstRejection, stopped }
}

/** What was read is written after Ctrl-C, so that the line where the load may continue is exact. */
async function endEarly(
  writer: BatchWriter,
  cause: unknown,
  stop: AbortSignal,
): Promise<Omit<EarlyEnd, 'afterLine'>> {
  if (stop.aborted && cause === stop.reason) {
    try {
      await writer.finish()
      return { isInterrupted: true, cause: new CliError(EXIT.refused, 'CANCELLED', 'stopped') }
    } catch (failure) {
      await writer.settle()
      return { isInterrupted: false, cause: failure }
    }
  }
  await writer.settle()
  return { isInterrupted: false, cause }
}

/** The source may be the same file that rejected documents are written to. */
function earlierReport(
  { reportPath }: DocumentSource,
  { errorsPath }: LoadOptions,
  isStopped: boolean,
): EarlierReport {
  const isSame = reportPath !== undefined && path.resolve(reportPath) === path.resolve(errorsPath)
  if (!isSame) return 'untouched'
  return isStopped ? 'partly read' : 'read'
}

function refusedDocument({ line, key, json }: SourceDocument, refusal: ServiceRefusal): Rejection {
  return { line, key, error: refusal.message, code: refusal.code, bytes: json, isJson: true }
}

function unreadableDocument({ line, key, text, isJson, problem }: UnreadableDocument): Rejection {
  return { line, key, error: problem, code: 'INVALID_ARGUMENT', bytes: text, isJson }
}
