// How far the build of an index had come at a clean stop, so that the next start continues it.
// Format: docs/reference/formats/text-index-directory.md.
//
// Invariants:
//   SB1  The file is written when the index is flushed and closed to changes, and removed before the index is
//        changed again. So it is never about another state of the index than the one on disk.

import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { isJsonRecord, isText, isWhole } from '../../../lib/json-record.ts'
import { replaceFile, syncDirectory } from '../../storage/file-replacement.ts'

const FILE = 'backfill'
const VERSION = 1

/** A walk through a table that was interrupted, and the index that it had filled so far. */
export interface SavedBackfill {
  /** The walk sees every write up to this log entry. */
  readonly walkedTo: number
  /** The index has all later writes up to this log entry. */
  readonly applied: number
  /** The key that the index took last. */
  readonly cursor: Buffer
  /** The key at which the walk ends. */
  readonly last: Buffer
  /** Documents that the walk has brought. */
  readonly processed: number
  /** Documents in the index. An index with another number of them is not the one that was left. */
  readonly documents: number
  /** Why the index is built again, if it existed before. */
  readonly reason: string | undefined
}

/** Durable when it resolves. */
export async function saveBackfill(directory: string, saved: SavedBackfill): Promise<void> {
  const { cursor, last, ...rest } = saved
  const keys = { cursor: cursor.toString('base64'), last: last.toString('base64') }
  const line = JSON.stringify({ version: VERSION, ...rest, ...keys })
  await replaceFile(path.join(directory, FILE), `${line}\n`)
}

/** Removes what was saved and returns it; undefined if nothing was, or nothing that this version reads. */
export async function takeBackfill(directory: string): Promise<SavedBackfill | undefined> {
  const file = path.join(directory, FILE)
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  await rm(file)
  await syncDirectory(directory)
  return parseBackfill(text)
}

function parseBackfill(text: string): SavedBackfill | undefined {
  const saved = parseJson(text)
  if (!isJsonRecord(saved) || saved['version'] !== VERSION) return undefined
  const { walkedTo, applied, processed, documents, cursor, last, reason } = saved
  if (!isWhole(walkedTo) || !isWhole(applied) || !isWhole(processed)) return undefined
  if (!isWhole(documents) || !isText(cursor) || !isText(last)) return undefined
  return {
    walkedTo,
    applied,
    processed,
    documents,
    cursor: Buffer.from(cursor, 'base64'),
    last: Buffer.from(last, 'base64'),
    reason: isText(reason) ? reason : undefined,
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
