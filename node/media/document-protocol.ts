// What the store and its reader of documents say to each other. The bytes of a document follow a job on
// the reader's standard input.

import type { ImageCostLimits } from '../../lib/media/image-cost.ts'
import type { ImageType } from '../../lib/media/image-type.ts'

/** One document to read: the job for the bytes that follow it. */
export type DocumentRequest =
  | { readonly kind: 'pdf'; readonly textLengthMax: number; readonly imageEdgePixelsMax: number }
  | { readonly kind: 'html'; readonly textLengthMax: number; readonly charset: string | undefined }
  | ImageRequest

/** An image that is made smaller if an edge is too long, within the limits of its cost. */
export interface ImageRequest extends ImageCostLimits {
  readonly kind: 'image'
  readonly type: ImageType
  readonly imageEdgePixelsMax: number
}

/** A request with the number of bytes. */
export type DocumentJob = DocumentRequest & { readonly length: number }

/** What was read. */
export type DocumentReading =
  | { readonly kind: 'text'; readonly text: string }
  /** The first page, because the document has no text. */
  | { readonly kind: 'page'; readonly png: Uint8Array }
  /** An image that is small enough as it is. */
  | { readonly kind: 'fitting' }
  /** An image that was made smaller. */
  | { readonly kind: 'image'; readonly type: string; readonly bytes: Uint8Array }
  /** The part of a page that is for readers, as HTML. */
  | { readonly kind: 'article'; readonly title: string; readonly html: string }
  | { readonly kind: 'refused'; readonly why: string }
