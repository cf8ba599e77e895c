/** The limits for images that clients send or name by URL. */
export interface MediaLimits {
  /**
   * The hosts that may be downloaded from: a name as in the URL, or `*.example.org` for all names
   * below it. Empty: any host.
   */
  readonly allowedHosts: readonly string[]
  /** True: every address must be public, after each resolution and each redirect. */
  readonly blockPrivateIps: boolean
  /** The most bytes of a downloaded body, and of a decoded data URI. */
  readonly downloadBytesMax: number
  /** The time for one whole download: resolution, redirects and body. */
  readonly downloadTimeoutMs: number
  /** The longest edge before resizing. */
  readonly imageEdgePixelsMax: number
  /** The most pixels (width × height) before resizing. A small file can unpack to a huge image. */
  readonly imagePixelsMax: number
}

export const MEDIA_LIMITS_DEFAULT: MediaLimits = {
  allowedHosts: [],
  blockPrivateIps: true,
  downloadBytesMax: 100 * 1000 * 1000,
  downloadTimeoutMs: 30_000,
  imageEdgePixelsMax: 16_384,
  imagePixelsMax: 8192 * 8192,
}
