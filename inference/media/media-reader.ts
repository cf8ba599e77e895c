import type { Clock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { HeldMemory } from '../../lib/http/request-memory.ts'
import { runSliced } from '../../lib/sliced.ts'
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

export interface ReadOptions {
  readonly signal: AbortSignal
  readonly memory: HeldMemory
}

/**
 * From the `url` of an `image_url` content part to the bytes of an image.
 *
 * Contract:
 * - Data URIs, http: and https: are read. file:, s3: and all others are refused: whoever can reach
 *   the API would read the files of this machine through them.
 * - Every other refusal is INVALID_ARGUMENT; nothing is answered that is larger than the limits allow.
 * - Aborting the signal ends a download at once, and rejects with the signal's reason.
 * - What is held is charged to the request's memory as it arrives: at the end the image's own bytes,
 *   on the way twice as many. OVERLOADED where there is no room.
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
      : await this.#downloader.download(url, { signal, memory })
    const type = sniffImageType(bytes)
    if (type !== undefined) return { type, bytes }
    throw new ServiceError(
      'INVALID_ARGUMENT',
      'image_url: its content is not an image of type PNG, JPEG, WebP or GIF',
    )
  }
  #decode(uri: string, { signal, memory }: ReadOptions): Promise<Uint8Array> {
    memory.add(Math.min(uri.length, this.#bytesMax))
    return runSliced(parseDataUri(uri, this.#bytesMax), { clock: this.#clock, signal })
  }
}
