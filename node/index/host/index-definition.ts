/** An index as its table's record has it. What else a kind of index has set is read by its engine alone. */
export interface IndexDefinition {
  readonly kind: string
  readonly name: string
  /** Kept in memory alone, and built anew at every start. */
  readonly memOnly: boolean
}
