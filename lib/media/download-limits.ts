/** The limits of downloads from URLs that clients name. */
export interface DownloadLimits {
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
}

export const DOWNLOAD_LIMITS_DEFAULT: DownloadLimits = {
  allowedHosts: [],
  blockPrivateIps: true,
  downloadBytesMax: 100 * 1000 * 1000,
  downloadTimeoutMs: 30_000,
}
