// How documents travel to an index worker: one buffer that changes hands, and where in it they lie.

const FIELDS_PER_ENTRY = 5
/** Numbers in artifacts take 4 bytes, and are read where they lie if they begin at a multiple of that. */
const ALIGNMENT = 4
/** Stands for the ordinal of a document that has none. */
const NO_ORDINAL = -1

/** The documents of one step of the log, each key once. */
export interface DocumentBatch {
  /** The log entry that the index reflects once the batch is applied. */
  readonly sequence: number
  readonly bytes: Uint8Array<ArrayBuffer>
  /** For each document: where its key begins and ends, where its JSON ends, when it expires, its ordinal. */
  readonly entries: Float64Array<ArrayBuffer>
}

/** One change of a document as the consumer collects it; without JSON it is a deletion. */
export interface DocumentChange {
  readonly key: Uint8Array
  readonly json: Uint8Array | undefined
  /** Milliseconds; 0 means never. */
  readonly expiresAtMs: number
  /** Names the document inside its shard; absent for deletions and documents without one. */
  readonly ordinal?: number | undefined
}

export function packBatch(sequence: number, changes: readonly DocumentChange[]): DocumentBatch {
  const size = changes.reduce((end, { key, json }) => {
    return keyStartFrom(end, key) + key.length + (json?.length ?? 0)
  }, 0)
  const bytes = new Uint8Array(size)
  const entries = new Float64Array(changes.length * FIELDS_PER_ENTRY)
  let at = 0
  for (const [i, { key, json, expiresAtMs, ordinal = NO_ORDINAL }] of changes.entries()) {
    const entry = i * FIELDS_PER_ENTRY
    at = keyStartFrom(at, key)
    entries[entry] = at
    bytes.set(key, at)
    at += key.length
    entries[entry + 1] = at
    if (json !== undefined) bytes.set(json, at)
    at += json?.length ?? 0
    entries[entry + 2] = at
    entries[entry + 3] = expiresAtMs
    entries[entry + 4] = ordinal
  }
  return { sequence, bytes, entries }
}

/** The first place from `end` on from which the key ends, and its JSON begins, at a multiple of ALIGNMENT. */
function keyStartFrom(end: number, key: Uint8Array): number {
  const over = (end + key.length) % ALIGNMENT
  return over === 0 ? end : end + ALIGNMENT - over
}

export function* unpackBatch({ bytes, entries }: DocumentBatch): Generator<DocumentChange> {
  for (let entry = 0; entry < entries.length; entry += FIELDS_PER_ENTRY) {
    const keyStart = entries[entry] ?? 0
    const keyEnd = entries[entry + 1] ?? 0
    const jsonEnd = entries[entry + 2] ?? 0
    const ordinal = entries[entry + 4] ?? NO_ORDINAL
    yield {
      key: bytes.subarray(keyStart, keyEnd),
      json: jsonEnd === keyEnd ? undefined : bytes.subarray(keyEnd, jsonEnd),
      expiresAtMs: entries[entry + 3] ?? 0,
      ordinal: ordinal === NO_ORDINAL ? undefined : ordinal,
    }
  }
}
