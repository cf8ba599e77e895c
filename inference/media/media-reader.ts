import type { Clock } from '../../lib/clock.ts'
import { ServiceError, isServiceError } from '../../lib/errors.ts'
import type { HeldMemory } from '../../lib/http/request-memory.ts'
import { runSliced } from '../../lib/sliced.ts'
import { isDataUri, parseDataUri } from '../../lib/media/data-uri.ts'
import { sniffImageType } from '../../lib/media/image-type.ts'
import type { ImageType } from '../../lib/media/image-type.ts'
import { MediaDownloader } from '../../lib/media/media-downloader.ts'
import type { DownloaderParts } from '../../lib/media/media-downloader.ts'

/** The bytes of one image in a served format. */
export interface ImageContent {
  /** The format that its first bytes show. */
  readonly type: ImageType
  readonly bytes: Uint8Array
}

/** The request that an image is read for: its signal, and the account of its memory. */
export interface ReadOptions {
  readonly signal: AbortSignal
  readonly memory: HeldMemory
}

/**
 * Reads the image that the `url` of an `image_url` content part names.
 *
 * Contract:
 * - It reads data URIs, http: and https:. It refuses file:, s3: and all other schemes, because every
 *   client of the API could read this machine's files through them.
 * - It rejects with INVALID_ARGUMENT when it refuses a URL, when a download fails, and when the
 *   content is not an image or exceeds the limits.
 * - Aborting the signal ends a download at once. The call then rejects with the signal's reason.
 * - Bytes are charged to the request's memory as they arrive: up to twice the image's size during the
 *   read, the image's size after it. It rejects with OVERLOADED when memory is short.
 */
export class MediaReader {
  readonly #bytesMax: number
  readonly #clock: Clock
  readonly #downloader: MediaDownloader

  constructor(parts: DownloaderParts) {
    this.#bytesMax = parts.limits.downloadBytesMax
    this.#clock = parts.clock
    this.#downloader = new MediaDownloader(parts)
  }

  async readImage(url: string, { signal, memory }: ReadOptions): Promise<ImageContent> {
    const bytes = isDataUri(url)
      ? await this.#decode(url, { signal, memory })
      : await this.#download(url, { signal, memory })
    const type = sniffImageType(bytes)
    if (type !== undefined) return { type, bytes }
    throw new ServiceError(
      'INVALID_ARGUMENT',
      'image_url: its content is not an image of type PNG, JPEG, WebP or GIF',
    )
  }

  async #download(url: string, options: ReadOptions): Promise<Uint8Array> {
    try {
      const { bytes } = await this.#downloader.download(url, { ...options, accept: 'image/*' })
      return bytes
    } catch (error) {
      if (!isServiceError(error) || error.code !== 'INVALID_ARGUMENT') throw error
      throw new ServiceError(error.code, `image_url: ${error.message}`, { cause: error })
    }
  }

  #decode(uri: string, { signal, memory }: ReadOptions): Promise<Uint8Array> {
    memory.add(Math.min(uri.length, this.#bytesMax))
    return runSliced(parseDataUri(uri, this.#bytesMax), { clock: this.#clock, signal })
  }
}
