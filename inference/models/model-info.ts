/** What a worker says about a model that it has loaded. */
export interface ModelInfo {
  /** Of an embedder's vectors; undefined for other kinds. */
  readonly dimension: number | undefined
  /** In what the tokenizer may differ from the reference implementation. */
  readonly tokenizerWarnings: readonly string[]
}
