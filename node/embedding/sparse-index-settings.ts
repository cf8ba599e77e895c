import { failSetting as fail, type PlainMembers } from './setting-members.ts'

/** The settings of an index of sparse vectors. */
export interface SparseIndexSettings {
  /** How many terms of each vector are kept, the heaviest; absent: all of them. */
  readonly topK?: number
  /** Terms of less weight are not kept. */
  readonly minWeight: number
  /** How many postings of a term are read from disk at once, CHUNK_SIZE_MIN to CHUNK_SIZE_MAX. */
  readonly chunkSize: number
}

export const CHUNK_SIZE_MIN = 64
/** Half a megabyte: read and verified in some tenths of a millisecond. */
export const CHUNK_SIZE_MAX = 65_536
const CHUNK_SIZE = 1024

/** CORRUPTION for anything that was never written into a table's record. */
export function readSparseSettings({
  topK,
  minWeight,
  chunkSize,
}: PlainMembers): SparseIndexSettings {
  return {
    ...(topK === undefined ? {} : { topK: isNumber(topK) ? topK : fail('topK') }),
    minWeight: isNumber(minWeight) ? minWeight : fail('minWeight'),
    chunkSize: isNumber(chunkSize) ? chunkSize : fail('chunkSize'),
  }
}

/**
 * The settings for members that were checked. A client has chosen the terms that it writes: unless told otherwise,
 * all of them are kept.
 */
export function parseSparseSettings({
  top_k,
  min_weight,
  chunk_size,
}: PlainMembers): SparseIndexSettings {
  return {
    ...(isNumber(top_k) ? { topK: top_k } : {}),
    minWeight: isNumber(min_weight) ? min_weight : 0,
    chunkSize: isNumber(chunk_size) ? chunk_size : CHUNK_SIZE,
  }
}

/** The members that make the settings. */
export function showSparseSettings({
  topK,
  minWeight,
  chunkSize,
}: SparseIndexSettings): PlainMembers {
  const kept = topK === undefined ? {} : { top_k: topK }
  return { ...kept, min_weight: minWeight, chunk_size: chunkSize }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}
