/** What a worker says about a model that it has loaded. */
export interface ModelInfo {
  /** Of an embedder's vectors; undefined for other kinds. */
  readonly dimension: number | undefined
  /** To how many tokens a graph pads every row; undefined: to those of the longest. */
  readonly rowTokens: number | undefined
  /** What is to be known about its answers. */
  readonly warnings: readonly string[]
  /** In what the tokenizer may differ from the reference implementation. */
  readonly tokenizerWarnings: readonly string[]
}
