import { ServiceError } from '../../lib/errors.ts'
import { isDataUri, parseDataUri } from './data-uri.ts'
import { sniffImageType } from './image-type.ts'
import type { ImageType } from './image-type.ts'
import { MediaDownloader } from './media-downloader.ts'
import type { DownloaderParts } from './media-downloader.ts'

export interface ImageContent {
  /** By its bytes. */
  readonly type: ImageType
  readonly bytes: Uint8Array
}

/**
 * From the `url` of an `image_url` content part to the bytes of an image.
 *
 * Contract:
 * - Data URIs, http: and https: are read. file:, s3: and all others are refused: whoever can reach
 *   the API would read the files of this machine through them.
 * - Every refusal is INVALID_ARGUMENT; nothing is answered that is larger than the limits allow.
 * - Aborting the signal ends a download at once, and rejects with the signal's reason.
 * - Each call may hold `downloadBytesMax` bytes: the caller bounds how many run at once.
 */
export class MediaReader {
  readonly #bytesMax: number
  readonly #downloader: MediaDownloader

  constructor(parts: DownloaderParts) {
    this.#bytesMax = parts.limits.downloadBytesMax
    this.#downloader = new MediaDownloader(parts)
  }

  async readImage(url: string, signal: AbortSignal): Promise<ImageContent> {
    const bytes = isDataUri(url)
      ? parseDataUri(url, this.#bytesMax)
      : await this.#downloader.download(url, signal)
    const type = sniffImageType(bytes)
    if (type !== undefined) return { type, bytes }
    throw new ServiceError(
      'INVALID_ARGUMENT',
      'image_url: its content is not an image of type PNG, JPEG, WebP or GIF',
    )
  }
}
