// A query as the engine runs it: fields are index fields and terms are tokens.

import type { Sliced } from '../../../lib/sliced.ts'

export type EngineQueryOf<Kind extends EngineQuery['kind']> = Extract<EngineQuery, { kind: Kind }>

/** Selects terms of a field's dictionary. The engine walks the dictionary with it, in order. */
export interface TermMatcher {
  /** The common beginning of all matching terms. The walk covers only terms with this prefix. */
  readonly prefix: string
  /** An inclusive upper bound of matching terms, in addition to the prefix; undefined without one. */
  readonly upTo: string | undefined
  /** Set if exactly the terms from `from` up to `to`, exclusive, match, in the order of `compareTexts`. */
  readonly range?: { readonly from: string; readonly to: string | undefined } | undefined
  /** Set if exactly these terms match: they are looked up instead of a walk. */
  readonly terms?: ReadonlySet<string>
  matches(term: string): boolean
  /** After a term that does not match: a prefix of it that no matching term has, if it is known. */
  deadEnd?(): string | undefined
  /** Tests as `matches` does, in steps. Present if one test may take long. */
  matchesSliced?(term: string): Sliced<boolean>
  /** The cost of all tests so far, in postings read. Absent if a test is cheap. */
  spent?(): number
  /** Empties the cache of earlier terms. */
  forget?(): void
}

/** How many terms of one expansion score by themselves, if the query has few expansions. */
export const RANKED_TERMS_MAX = 50

/** Ranks documents by their closest matching terms. */
export interface TermRanking {
  /** Two rankings in one field have the same name exactly if their terms and closeness are equal. */
  readonly name: string
  /** How many of the closest terms score by themselves. All others have one low score. */
  readonly termsMax: number
  /** The weight of a matching term compared with the queried word: above 0 and at most 1. */
  closeness(term: string): number
}

/** The matching terms of a matcher, for a place that needs the terms themselves. */
export interface Expansion {
  readonly matcher: TermMatcher
  /** A query with more matching terms is refused with INVALID_ARGUMENT, which names this limit. */
  readonly termsMax: number
  /** The expansion as messages show it. */
  readonly shown: string
}

/** Terms of one field. */
export interface TermsInField {
  readonly field: string
  readonly terms: readonly string[]
}

/** The most by which the shape of a field multiplies a boost. */
export const SHAPE_MAX = 1.5

/** A part of a query whose boost may be multiplied by what its field is like (matching/field-shape.ts). */
interface Shaped {
  /** Set if it is: the field with the text of all fields, in whose documents the part's field is or is not. */
  readonly shapedIn?: string
}

/** One position of a phrase, with the terms that match there. */
export interface PhrasePosition {
  /** Relative to the first position. */
  readonly offset: number
  /** Any of these terms matches. */
  readonly terms: readonly string[]
  /** More terms. They are looked up before the query goes to the engine. */
  readonly more?: Expansion
}

/** How a value is equal to what was typed: by its words, or as a keyword. */
export type WholeForm =
  /** A field whose quantised length is that of these words has them in a row. */
  | {
      readonly kind: 'words'
      readonly positions: readonly PhrasePosition[]
      readonly length: number
    }
  | { readonly kind: 'keyword'; readonly field: string; readonly matcher: TermMatcher }

export type EngineQuery =
  | { readonly kind: 'all'; readonly boost: number }
  | { readonly kind: 'none' }
  | ({
      readonly kind: 'term'
      readonly field: string
      readonly term: string
      readonly boost: number
      /** The term scores as if it were as frequent as the most frequent of these. Default: itself. */
      readonly alike?: TermsInField
    } & Shaped)
  /**
   * Matches documents with any matching term. They score `boost`, or by the ranking if the search
   * needs scores (matching/ranked-expansions.ts).
   */
  | ({
      readonly kind: 'expand'
      readonly field: string
      readonly matcher: TermMatcher
      readonly boost: number
      readonly ranking?: TermRanking
      /**
       * The closest terms of `field` are looked up and score in this field instead, as rare as they are in `field`.
       * Other terms match nothing.
       */
      readonly scoredIn?: string
    } & Shaped)
  | ({
      readonly kind: 'phrase'
      readonly field: string
      readonly positions: readonly PhrasePosition[]
      readonly slop: number
      readonly boost: number
      /** The phrase is as rare as these together, each as the most frequent of its terms. Default: its positions. */
      readonly alike?: readonly TermsInField[]
    } & Shaped)
  /** The whole value of a field is what was typed, in one of these forms. All matches score the boost times the rarity. */
  | ({
      readonly kind: 'whole'
      readonly field: string
      readonly forms: readonly WholeForm[]
      readonly boost: number
      /** The matches count as rare as these together, each of them as the most frequent of its terms. */
      readonly alike: readonly TermsInField[]
      /** Set if only a value that few documents have, by this keyword, tells the document. */
      readonly value: { readonly field: string; readonly term: string } | undefined
    } & Shaped)
  /**
   * min <= value <= max. An open end is an infinity, an exclusive end the next double. `exact` selects the terms of
   * documents with numbers beyond doubles (mapping/exact-numbers.ts); the engine's caller takes it out.
   */
  | {
      readonly kind: 'range'
      readonly field: string
      readonly min: number
      readonly max: number
      readonly boost: number
      /** Set if only these values match. */
      readonly among?: ReadonlySet<number>
      readonly exact?: { readonly field: string; readonly matcher: TermMatcher }
    }
  /** A box that contains every candidate, and the exact test. */
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
  /** The field has a value. A text field needs a word. */
  | { readonly kind: 'exists'; readonly field: string; readonly boost: number }
  | { readonly kind: 'keys'; readonly keys: readonly Uint8Array[]; readonly boost: number }
  /** Matches keys that begin with these bytes. */
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
  /** Scores by its best part, and not by the sum of its parts. */
  | { readonly kind: 'best'; readonly parts: readonly EngineQuery[]; readonly boost: number }
