// The hash of a store's content (INV-R7). Two replicas that have applied the same log entries have the
// same one. Format: docs/reference/formats/replica-snapshot.md.

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { KvEntry, KvSnapshot } from '../../storage/kv-store.ts'
import { encodedBytes, encodeEntry, writeEntry } from './entry-stream.ts'

/** About half a millisecond of hashing. */
const STEP_BYTES = 512 * 1024

/** The SHA-256 of a store's stream of entries, and how many there are. */
export interface ContentHash {
  readonly hash: Buffer
  readonly entries: number
}

/**
 * Reads the whole store in pages, and hashes at most half a MiB in one turn of the event loop. `pause` is
 * called with the bytes that come next, and may wait. If it throws, so does the call.
 */
export async function contentHashOf(
  store: Pick<KvSnapshot, 'pages'>,
  pause: (bytes: number) => Promise<void> = async () => undefined,
): Promise<ContentHash> {
  const hash = createHash('sha256')
  let entries = 0
  for await (const page of store.pages({})) {
    for (const run of runsOf(page)) {
      await pause(run.length)
      hash.update(run)
      await nextTurn()
    }
    entries += page.length
  }
  return { hash: hash.digest(), entries }
}

/** The stream of these entries, in runs. */
function* runsOf(page: readonly KvEntry[]): Generator<Buffer> {
  const bytes = page.reduce((sum, entry) => sum + encodedBytes(entry), 0)
  if (bytes > STEP_BYTES) {
    for (const entry of page) yield* slicesOf(encodeEntry(entry))
    return
  }
  const run = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const entry of page) at = writeEntry(run, at, entry)
  yield run
}

function* slicesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += STEP_BYTES) yield bytes.subarray(at, at + STEP_BYTES)
}
