import { DOWNLOAD_LIMITS_DEFAULT } from '../../lib/media/download-limits.ts'
import type { DownloadLimits } from '../../lib/media/download-limits.ts'

/** The limits for images that clients send or name by URL. */
export interface MediaLimits extends DownloadLimits {
  /** The longest edge before resizing. */
  readonly imageEdgePixelsMax: number
  /** The most pixels (width × height) before resizing. A small file can unpack to a huge image. */
  readonly imagePixelsMax: number
}

export const MEDIA_LIMITS_DEFAULT: MediaLimits = {
  ...DOWNLOAD_LIMITS_DEFAULT,
  imageEdgePixelsMax: 16_384,
  imagePixelsMax: 8192 * 8192,
}
