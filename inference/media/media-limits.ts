import { DOWNLOAD_LIMITS_DEFAULT } from '../../lib/media/download-limits.ts'
import type { DownloadLimits } from '../../lib/media/download-limits.ts'
import { IMAGE_COST_LIMITS_DEFAULT } from '../../lib/media/image-cost.ts'
import type { ImageCostLimits } from '../../lib/media/image-cost.ts'

/** The limits for images that clients send or name by URL: those of the store. */
export interface MediaLimits extends DownloadLimits, ImageCostLimits {}

export const MEDIA_LIMITS_DEFAULT: MediaLimits = {
  ...DOWNLOAD_LIMITS_DEFAULT,
  ...IMAGE_COST_LIMITS_DEFAULT,
}
