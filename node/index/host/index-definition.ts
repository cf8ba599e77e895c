/** Full-text indexes that were made before indexes had ids have this one, and so has the built-in one. */
export const NO_INDEX_ID = '0'.repeat(16)

/** An index as its table's record has it. */
export interface IndexDefinition {
  /** 16 hexadecimal digits: an index that is dropped and added again under its name has another one. */
  readonly id: string
  readonly kind: string
  readonly name: string
  /** Kept in memory alone, and built anew at every start. */
  readonly memOnly: boolean
  /** What else its kind has set, as plain JSON; the kind alone reads it. */
  readonly settings?: unknown
}
