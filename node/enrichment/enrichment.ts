// How an index makes its artifacts from documents: read what is embedded, compare its hash, make the vectors.
//
//   document ──► SourceReader ──► Source, with its hash ──► unchanged? nothing to do
//                                      │
//                                      ▼
//               SourcePreparer: media, summary, chunks ──► rows ──► embedder ──► artifact

import type { DenseArtifact } from '../embedding/artifact.ts'
import type { AwayPart } from './prepare/away-error.ts'
import type { MakeOptions, Source } from './prepare/source-preparer.ts'

export type { MakeOptions, Source, SourcePart } from './prepare/source-preparer.ts'

/** A document as it stands. */
export interface SourceDocument {
  readonly key: Buffer
  readonly json: Buffer
}

/** What became of one source. */
export type Made =
  /** Its ordinal is 0: it is put in when the artifact is written. It has no rows where nothing was to embed. */
  | { readonly kind: 'made'; readonly artifact: DenseArtifact }
  /** The source itself is at fault: the same source fails again. */
  | { readonly kind: 'refused'; readonly message: string }
  /** What the source needs besides the embedder does not answer now: the same source may succeed later. */
  | { readonly kind: 'away'; readonly part: AwayPart; readonly message: string }

/**
 * One managed index on this node: its settings, its models, what it reads of documents.
 *
 * Contract:
 * - `sourceOf` is pure and asks nobody. It works in short steps. It rejects with INVALID_ARGUMENT for a document
 *   from which nothing can be read as the settings say (a field that is not a string, a template that fails), with
 *   the signal's reason, and with nothing else.
 * - `make` answers for each source in order. A refusal by the provider of several sources together is narrowed
 *   down to those at fault. It rejects as a whole, with nothing made, when the provider cannot be asked
 *   (`ProviderError` `rate_limited` or `unavailable`), answers vectors of another dimension than the index has
 *   (INVALID_ARGUMENT), or the signal aborts. It retries nothing, and keeps nothing.
 * - One call takes at most `batch.items` sources, and more bytes than `batch.bytes` only in one source.
 */
export interface Enrichment {
  /** The id of the index. */
  readonly index: string
  readonly batch: { readonly items: number; readonly bytes: number }
  sourceOf(document: SourceDocument, options: MakeOptions): Promise<Source>
  make(sources: readonly Source[], options: MakeOptions): Promise<readonly Made[]>
  close(): Promise<void>
}
