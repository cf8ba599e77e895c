// Names a source and all that decides about its artifact: an equal hash means that nothing is to be made again.

import { createHash } from 'node:crypto'
import type { Sliced } from '../../lib/sliced.ts'
import type { ManagedIndexSettings } from '../embedding/settings.ts'
import type { SourcePart } from './enrichment.ts'

const HASH_BYTES = 16
/** In UTF-16 units: hashed in less than a millisecond. */
const PIECE_LENGTH = 128 * 1024
/** Another number makes every artifact again. */
const MEANING = 1

/**
 * What of the settings decides about artifacts, as a text. Keys of providers do not: a key that is changed must
 * not embed a table again. The configurations are those that the client wrote, so that a default which a
 * later release adds changes nothing.
 */
export function enrichmentKey(settings: ManagedIndexSettings): string {
  const { source, dimension, embedder, chunker, summarizer } = settings
  const models = [embedder, chunker?.config, summarizer].map((config) =>
    config === undefined ? null : { ...config, api_key: undefined },
  )
  const kept = chunker && [chunker.storeChunks, chunker.fullText]
  return sortedJson([MEANING, dimension, source, models, kept ?? null])
}

/** 16 bytes over the key and the parts. */
export function* hashSource(key: string, parts: readonly SourcePart[]): Sliced<Buffer> {
  const hash = createHash('sha256').update(`${key.length} `).update(key)
  for (const part of parts) {
    const text = part.kind === 'text' ? part.text : part.url
    const head = part.kind === 'text' ? 'text' : `media ${part.expects}`
    hash.update(`${head} ${text.length} `)
    for (let at = 0; at < text.length; at += PIECE_LENGTH) {
      if (at > 0) yield
      // UTF-16, so that a piece may end within a pair of surrogates.
      hash.update(text.slice(at, at + PIECE_LENGTH), 'utf16le')
    }
  }
  return hash.digest().subarray(0, HASH_BYTES)
}

/** The catalog may keep members in another order than the client wrote them. */
/** Equal for values that are the same JSON, whatever the order of their members. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
