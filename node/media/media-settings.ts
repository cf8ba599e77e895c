import { DOWNLOAD_LIMITS_DEFAULT } from '../../lib/media/download-limits.ts'
import type { DownloadLimits } from '../../lib/media/download-limits.ts'
import { IMAGE_COST_LIMITS_DEFAULT } from '../../lib/media/image-cost.ts'
import type { ImageCostLimits } from '../../lib/media/image-cost.ts'
import type { S3Settings } from './s3-source.ts'

/** What a node may read for documents and queries that name media, and how much of it. */
export interface MediaSettings extends DownloadLimits, ImageCostLimits {
  /** Absolute paths of the directories that `file:` may read. Empty: none. */
  readonly allowedDirectories: readonly string[]
  /** How `s3:` is read. Absent: only from hosts that a URL names, without credentials. */
  readonly s3?: S3Settings
  /** The longest edge of an image that is handed on. Larger images are resized. */
  readonly imageEdgePixelsMax: number
  /** The most bytes of an image, a sound or a film that is handed on. */
  readonly mediumBytesMax: number
  /** The most bytes of an HTML page. */
  readonly htmlBytesMax: number
  /** The most characters of a text: of a PDF, a page, or a text file. */
  readonly textLengthMax: number
  /** The time for one PDF or page, once its reader has it; a page has five seconds at most. */
  readonly documentTimeoutMs: number
  /** The bytes that all media together may hold, from their first byte until their results are used. */
  readonly heldBytesMax: number
  /** How long a medium waits for room among them. */
  readonly roomWaitMs: number
}

const MEGABYTE = 1000 * 1000

export const MEDIA_SETTINGS_DEFAULT: MediaSettings = {
  ...DOWNLOAD_LIMITS_DEFAULT,
  ...IMAGE_COST_LIMITS_DEFAULT,
  allowedDirectories: [],
  imageEdgePixelsMax: 2048,
  mediumBytesMax: 20 * MEGABYTE,
  htmlBytesMax: 10 * MEGABYTE,
  textLengthMax: 2 * MEGABYTE,
  documentTimeoutMs: 20_000,
  heldBytesMax: 512 * MEGABYTE,
  roomWaitMs: 10_000,
}
