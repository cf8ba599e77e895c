// Compiled templates by their text, for a while.
//
// Invariants:
//   TC1  The sum of all entries' costs is `heldBytes`, and never more than `bytesMax`.
//   TC2  The map is in the order of last use, so that the first entries are the oldest.

import type { Clock } from '../../lib/clock.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { compileTemplate } from './compile-template.ts'
import type { Template } from './template.ts'

const TTL_MS = 5 * 60 * 1000
const BYTES_MAX_DEFAULT = 16 * 1024 * 1024
/** A template of the shortest tags takes 58 bytes for each of its characters, and its key takes two. */
const BYTES_PER_CHARACTER = 80
const BYTES_PER_ENTRY = 1024

interface Entry {
  readonly template: Template
  readonly bytes: number
  usedAtMs: number
}

/** The clock, and the most bytes that all templates together may take. */
export interface TemplateCacheOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly bytesMax?: number
}

/** Keeps templates for five minutes after their last use. What does not compile is not kept. */
export class TemplateCache {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #bytesMax: number
  readonly #entries = new Map<string, Entry>()
  #heldBytes = 0

  constructor({ clock, bytesMax = BYTES_MAX_DEFAULT }: TemplateCacheOptions) {
    this.#clock = clock
    this.#bytesMax = bytesMax
  }

  /** An estimate of the memory that the templates take. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** The template of a text. Throws as `compileTemplate` does. */
  *get(source: string): Sliced<Template> {
    const nowMs = this.#clock.monotonicMs()
    this.#dropUntil(({ usedAtMs }) => usedAtMs + TTL_MS > nowMs)
    const known = this.#entries.get(source)
    if (known !== undefined) {
      this.#entries.delete(source)
      this.#entries.set(source, { ...known, usedAtMs: nowMs })
      return known.template
    }
    const template = yield* compileTemplate(source)
    this.#keep(source, template)
    return template
  }

  #keep(source: string, template: Template): void {
    const bytes = BYTES_PER_ENTRY + source.length * BYTES_PER_CHARACTER
    if (bytes > this.#bytesMax || this.#entries.has(source)) return
    this.#dropUntil(() => this.#heldBytes + bytes <= this.#bytesMax)
    this.#entries.set(source, { template, bytes, usedAtMs: this.#clock.monotonicMs() })
    this.#heldBytes += bytes
  }

  /** Drops the oldest entries, to the first that may stay. */
  #dropUntil(mayStay: (entry: Entry) => boolean): void {
    for (const [source, entry] of this.#entries) {
      if (mayStay(entry)) return
      this.#entries.delete(source)
      this.#heldBytes -= entry.bytes
    }
  }
}
