// Between what is read of documents and what is embedded: the seam where files, descriptions and chunks come in.

import type { ArtifactTexts } from '../../embedding/artifact.ts'
import type { EmbedPart } from '../../providers/contract/provider.ts'

/** A part of what is embedded, before anything was fetched. */
export type SourcePart =
  | { readonly kind: 'text'; readonly text: string }
  /** A file that the document names; `expects` is what it has to be. */
  | { readonly kind: 'media'; readonly url: string; readonly expects: 'any' | 'pdf' | 'text' }

/** What an index embeds of one document. */
export interface Source {
  /** None: the document has nothing to embed, such as no value in the field. */
  readonly parts: readonly SourcePart[]
  /**
   * 16 bytes over the parts and over all settings that decide about the artifact, not all 0. Files count by their URL.
   */
  readonly hash: Buffer
  /** What the parts hold, roughly. */
  readonly bytes: number
}

/** How a caller waits. */
export interface MakeOptions {
  readonly signal: AbortSignal
}

/** A part of a source that gets a vector of its own. */
export interface PreparedRow {
  /** UTF-16 offsets in the text; 0 and 0: the whole. */
  readonly start: number
  readonly end: number
  readonly parts: readonly EmbedPart[]
}

/** A source whose files were read, summarised and cut into chunks, as the settings say. */
export interface PreparedSource {
  readonly rows: readonly PreparedRow[]
  /** What is kept beside the vectors. */
  readonly texts?: ArtifactTexts
  /** The memory of its files, which is given back when the rows were embedded. */
  readonly held?: Disposable
}

/**
 * Prepares sources. Contract:
 * - It rejects with INVALID_ARGUMENT if the source is at fault, with an AwayError if a file that it names,
 *   or its summarizer, does not answer now, else as `Enrichment.make`. Nothing is held then.
 * - Who got a prepared source disposes of what it holds, also if embedding fails.
 * - After `close`, calls that run and all later ones reject with UNAVAILABLE.
 */
export interface SourcePreparer {
  prepare(source: Source, options: MakeOptions): Promise<PreparedSource>
  close(): Promise<void>
}
