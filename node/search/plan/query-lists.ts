import type { WrittenVector } from '../../embedding/vector-forms.ts'
import type { MergeConfig } from '../../query/request/merge-request.ts'
import type { Query } from '../../query/query-tree.ts'
import type { QueriedVectors } from '../tables/queried-table.ts'

/** A list of the documents that match words. */
export interface TextList {
  readonly index: string
  /** Its name in `_index_scores`: `full_text`, or the index's if there are several such lists, or vectors of that name. */
  readonly name: string
  /** Undefined: every document matches. */
  readonly query: Query | undefined
}

/** A list of the documents whose vectors in an index are nearest. */
export interface NearestList {
  readonly index: QueriedVectors
  readonly from: VectorSource
}

/** Where the vector that is searched for comes from. */
export type VectorSource =
  | { readonly kind: 'sent'; readonly vector: WrittenVector }
  | { readonly kind: 'text'; readonly text: string; readonly template: string | undefined }
  | { readonly kind: 'document'; readonly key: Buffer }

/** The lists of a query that merges them. */
export interface MergedLists {
  readonly texts: readonly TextList[]
  readonly nearest: readonly NearestList[]
  readonly config: MergeConfig
  /** How many hits of each list count. */
  readonly windowSize: number
}

/** What a query asks of the indexes of its table. */
export type QueryLists =
  | { readonly kind: 'words'; readonly list: TextList }
  | {
      readonly kind: 'merged'
      readonly lists: MergedLists
      /** Answers filters, aggregations, highlights and suggestions. Undefined: the table has none. */
      readonly textIndex: string | undefined
    }
