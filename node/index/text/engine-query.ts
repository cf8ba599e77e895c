// A query as the engine runs it: fields are index fields and terms are tokens.

import type { Sliced } from '../../../lib/sliced.ts'

/** Decides which terms of a field's dictionary take part. The engine walks the dictionary with it. */
export interface TermMatcher {
  /** Every matching term begins with this; the walk starts there and ends behind it. */
  readonly prefix: string
  /** An inclusive upper bound on matching terms beyond the prefix, if there is one. */
  readonly upTo: string | undefined
  /** If every term from here up to there, by code units, matches and no other; not `to` itself. */
  readonly range?: { readonly from: string; readonly to: string | undefined } | undefined
  matches(term: string): boolean
  /** Behind a term that does not match: what it begins with and no matching term does, if it is known. */
  deadEnd?(): string | undefined
  /** The same, for tests of which one may take long. */
  matchesSliced?(term: string): Sliced<boolean>
  /** What tests have cost so far, in postings read, where they are more than a glance. */
  spent?(): number
  /** Gives up what was remembered of earlier terms. */
  forget?(): void
}

/** Terms of one expansion that score by themselves, as long as the query has few expansions. */
export const RANKED_TERMS_MAX = 50

/** How documents are ranked by which of the matching terms they have. */
export interface TermRanking {
  /** Of all expansions of a field the same name for the same terms and closeness, and for no others. */
  readonly name: string
  /** So many of the closest terms score by themselves; all others count alike, and little. */
  readonly termsMax: number
  /** Of a matching term, above 0 and at most 1: what it counts beside the word that was meant. */
  closeness(term: string): number
}

/** The terms that a matcher lets through, where they have to be named. */
export interface Expansion {
  readonly matcher: TermMatcher
  /** More matching terms than this are refused: INVALID_ARGUMENT naming the limit. */
  readonly termsMax: number
  /** For the message. */
  readonly shown: string
}

export interface PhrasePosition {
  /** Relative to the first. */
  readonly offset: number
  /** Alternatives. */
  readonly terms: readonly string[]
  /** More of them, to be looked up before the engine is asked. */
  readonly more?: Expansion
}

export type EngineQuery =
  | { readonly kind: 'all'; readonly boost: number }
  | { readonly kind: 'none' }
  | {
      readonly kind: 'term'
      readonly field: string
      readonly term: string
      readonly boost: number
      /** It is as rare as the most frequent of these. Default: the term alone. */
      readonly alike?: readonly string[]
    }
  /**
   * Every term that matches. Documents that have one score `boost`, or by the ranking where scores
   * are asked for (matching/ranked-expansions.ts).
   */
  | {
      readonly kind: 'expand'
      readonly field: string
      readonly matcher: TermMatcher
      readonly boost: number
      readonly ranking?: TermRanking
    }
  | {
      readonly kind: 'phrase'
      readonly field: string
      readonly positions: readonly PhrasePosition[]
      readonly slop: number
      readonly boost: number
    }
  /** min <= value <= max; open ends are infinities, exclusive ends are the next double. */
  | {
      readonly kind: 'range'
      readonly field: string
      readonly min: number
      readonly max: number
      readonly boost: number
    }
  /** A box that holds every candidate, and the exact test. */
  | {
      readonly kind: 'area'
      readonly field: string
      readonly box: {
        readonly west: number
        readonly east: number
        readonly south: number
        readonly north: number
      }
      contains(lon: number, lat: number): boolean
      readonly boost: number
    }
  /** The field has a value; of text, a word. */
  | { readonly kind: 'exists'; readonly field: string; readonly boost: number }
  | { readonly kind: 'keys'; readonly keys: readonly Uint8Array[]; readonly boost: number }
  /** Keys that begin with these bytes. */
  | { readonly kind: 'key-prefix'; readonly prefix: Uint8Array; readonly boost: number }
  | {
      readonly kind: 'boolean'
      readonly must: readonly EngineQuery[]
      readonly should: readonly EngineQuery[]
      readonly minShould: number
      readonly mustNot: readonly EngineQuery[]
      readonly filter: readonly EngineQuery[]
      readonly boost: number
    }
  /** The best of its parts scores, not their sum. */
  | { readonly kind: 'best'; readonly parts: readonly EngineQuery[]; readonly boost: number }
