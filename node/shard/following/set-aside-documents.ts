// Documents at which a worker hung or ended. After the second time the index leaves the document out:
// the worker would end again, and the index would never get beyond it. A new version of the document is
// tried again; so is every document after a restart of the node.

import { crc32 } from 'node:zlib'
import type { Log } from '../../../lib/log.ts'
import type { DocumentChange } from '../../index/host/document-batch.ts'
import { WorkerLostError } from '../../index/host/protocol.ts'
import { shownKey } from '../../document/document-limits.ts'
import type { IndexPlace } from './build-notices.ts'
import type { IndexEvents } from './index-events.ts'

const LOSSES_MAX = 2
/** More documents mean another cause, so the index tries the first of them again. */
const REMEMBERED_MAX = 1000

interface Suspect {
  /** A checksum of the document's JSON. Another version of the document has another sum. */
  readonly sum: number
  readonly losses: number
}

/**
 * Remembers the documents at which the worker of one index was lost, until a new version of them
 * comes.
 */
export class SetAsideDocuments {
  readonly #log: Log
  readonly #place: IndexPlace
  readonly #events: IndexEvents
  readonly #suspects = new Map<string, Suspect>()

  constructor(
    place: IndexPlace,
    { log, events }: { readonly log: Log; readonly events: IndexEvents },
  ) {
    this.#place = place
    this.#log = log
    this.#events = events
  }

  get count(): number {
    let count = 0
    for (const { losses } of this.#suspects.values()) if (losses >= LOSSES_MAX) count += 1
    return count
  }

  /** Turns each document that is set aside into a deletion, so that no search shows an older version. */
  without(changes: readonly DocumentChange[]): readonly DocumentChange[] {
    if (this.#suspects.size === 0) return changes
    return changes.map((change) =>
      this.#isSetAside(change) ? { ...change, json: undefined } : change,
    )
  }

  /** Notes an error that came while these documents were applied. */
  blame(error: unknown, changes: readonly DocumentChange[]): void {
    if (!(error instanceof WorkerLostError) || error.document === undefined) return
    const { key, json } = changes[error.document] ?? {}
    if (key === undefined || json === undefined) return
    const sum = crc32(json)
    const name = nameOf(key)
    const known = this.#suspects.get(name)
    const losses = known?.sum === sum ? known.losses + 1 : 1
    this.#suspects.delete(name)
    this.#suspects.set(name, { sum, losses })
    const [oldest] = this.#suspects.keys()
    if (this.#suspects.size > REMEMBERED_MAX && oldest !== undefined) this.#suspects.delete(oldest)
    if (losses < LOSSES_MAX) return
    this.#events.documentsSetAside += 1
    const shown = shownKey(Buffer.from(key).toString('utf8'))
    this.#log.error('document is set aside', { ...this.#place, key: shown, error: error.message })
  }

  /** The index has applied these documents, so none of them is suspected any more. */
  absolve(changes: readonly DocumentChange[]): void {
    if (this.#suspects.size === 0) return
    for (const { key, json } of changes) if (json !== undefined) this.#suspects.delete(nameOf(key))
  }

  #isSetAside({ key, json }: DocumentChange): boolean {
    const suspect = this.#suspects.get(nameOf(key))
    if (suspect === undefined || suspect.losses < LOSSES_MAX) return false
    if (json !== undefined && crc32(json) === suspect.sum) return true
    this.#suspects.delete(nameOf(key))
    return false
  }
}

function nameOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')
}
