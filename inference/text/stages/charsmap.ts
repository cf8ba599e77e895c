// The character map of SentencePiece models: a double array trie of UTF-8 sequences. Each sequence
// leads to an offset among the replacement texts, which end with a zero byte.
//
//   [size of the trie in bytes: u32] [units: u32 …] [texts: UTF-8, each with a 0]
//
// All numbers are little-endian. The units are those of Darts-clone.

import { ServiceError } from '../../../lib/errors.ts'
import { applyEdits } from '../aligned-text.ts'
import type { Edit, TextStage } from '../aligned-text.ts'
import { isText } from '../json-values.ts'

/** The reference looks up longer grapheme clusters character by character. */
const CLUSTER_BYTES_MAX = 5
/** A text without these characters has one cluster for each character. */
const CLUSTERING =
  /[\p{M}\p{Cf}\p{Regional_Indicator}\p{Emoji_Modifier}\r\u0e33\u0eb3\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]/u
/** The longest replacement in wide use has 33 bytes for one character. */
const REPLACEMENT_BYTES_MAX = 256
const encoder = new TextEncoder()
const clusters = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * The stage of a map in base64. As in SentencePiece, an empty or absent map changes nothing. Throws
 * INVALID_ARGUMENT for malformed maps.
 */
export function openCharsmap(charsmap: unknown): TextStage {
  if ((charsmap ?? '') === '') return (input) => input
  if (!isText(charsmap)) throw refusal('must be a text')
  const bytes = Buffer.from(charsmap, 'base64')
  const trieBytes = bytes.length < 4 ? 0 : bytes.readUInt32LE(0)
  if (trieBytes === 0 || trieBytes % 4 !== 0 || trieBytes + 4 > bytes.length) {
    throw refusal('is not a character map of SentencePiece')
  }
  const units = Uint32Array.from({ length: trieBytes / 4 }, (_, at) =>
    bytes.readUInt32LE(4 + at * 4),
  )
  const texts = bytes.subarray(4 + trieBytes)
  checkLengths(texts)
  const lookUp: LookUp = (chunk) => textAt(texts, shortestMatch(units, chunk))
  return (input) => applyEdits(input, findEdits(input.text, lookUp))
}

function checkLengths(texts: Buffer): void {
  let start = 0
  while (start < texts.length) {
    const end = endOfText(texts, start)
    if (end - start > REPLACEMENT_BYTES_MAX) {
      throw refusal(`has a replacement of more than ${REPLACEMENT_BYTES_MAX} bytes`)
    }
    start = end + 1
  }
}

type LookUp = (chunk: Uint8Array) => string | undefined

function findEdits(text: string, lookUp: LookUp): Edit[] {
  const edits: Edit[] = []
  const replace = (chunk: string, start: number): boolean => {
    const content = lookUp(encoder.encode(chunk))
    if (content !== undefined) edits.push({ start, end: start + chunk.length, content })
    return content !== undefined
  }
  for (const { cluster, start } of clustersOf(text)) {
    const isShort = Buffer.byteLength(cluster) <= CLUSTER_BYTES_MAX
    if (isShort && replace(cluster, start)) continue
    let at = start
    for (const character of cluster) {
      replace(character, at)
      at += character.length
    }
  }
  return edits
}

function* clustersOf(text: string): Generator<{ cluster: string; start: number }> {
  if (CLUSTERING.test(text)) {
    for (const { segment, index } of clusters.segment(text)) {
      yield { cluster: segment, start: index }
    }
    return
  }
  let start = 0
  for (const cluster of text) {
    yield { cluster, start }
    start += cluster.length
  }
}

/**
 * The offset of the replacement for the shortest known prefix. The reference never takes a longer
 * one.
 */
function shortestMatch(units: Uint32Array, chunk: Uint8Array): number | undefined {
  let node = offsetOf(units[0] ?? 0)
  for (const byte of chunk) {
    if (byte === 0) return undefined
    node ^= byte
    const unit = units[node]
    if (unit === undefined || labelOf(unit) !== byte) return undefined
    node ^= offsetOf(unit)
    if (hasLeaf(unit)) return (units[node] ?? 0) & 0x7f_ff_ff_ff
  }
  return undefined
}

function textAt(texts: Buffer, start: number | undefined): string | undefined {
  if (start === undefined) return undefined
  return texts.toString('utf8', start, endOfText(texts, start))
}

function endOfText(texts: Buffer, start: number): number {
  const end = texts.indexOf(0, start)
  return end < 0 ? texts.length : end
}

function offsetOf(unit: number): number {
  return ((unit >>> 10) << ((unit & 0x200) >>> 6)) >>> 0
}

/** The unit of a value has its highest bit set, so its label matches no byte. */
function labelOf(unit: number): number {
  return (unit & 0x80_00_00_ff) >>> 0
}

function hasLeaf(unit: number): boolean {
  return (unit & 0x100) !== 0
}

function refusal(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `tokenizer.json: "precompiled_charsmap" ${problem}`)
}
