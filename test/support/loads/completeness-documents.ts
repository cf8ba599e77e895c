/** Every sparse vector has the term 1, so that a search for it finds all documents. */
export function sparseOf(n: number): {
  readonly indices: readonly number[]
  readonly values: readonly number[]
} {
  return { indices: [1, 2 + (n % 50)], values: [1, 0.5] }
}
