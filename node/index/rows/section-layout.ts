/** Lays sections of a file one behind the other, each at a multiple of `alignment`. */
export class SectionLayout {
  readonly #alignment: number
  #at: number

  /** The first section begins behind the header, whose length is such a multiple. */
  constructor(headerBytes: number, alignment: number) {
    this.#at = headerBytes
    this.#alignment = alignment
  }

  /** Where the file ends. */
  get end(): number {
    return this.#at
  }

  /** Where the next section begins, of `bytes` bytes. */
  place(bytes: number): number {
    const from = this.#at
    this.#at = Math.ceil((from + bytes) / this.#alignment) * this.#alignment
    return from
  }
}
