/** What content that a client points at may be and may cost. */
export interface MediaLimits {
  /**
   * Hosts that may be downloaded from: a name as it stands in the URL, or `*.example.org` for all
   * names below one. Empty for any host.
   */
  readonly allowedHosts: readonly string[]
  /** Refuses every address that is not a public one, after resolution and after each redirect. */
  readonly blockPrivateIps: boolean
  /** Of a downloaded body, and of what a data URI decodes to. */
  readonly downloadBytesMax: number
  /** For the whole of one download: resolution, redirects and body. */
  readonly downloadTimeoutMs: number
  /** Of one edge, before resizing. */
  readonly imageEdgePixelsMax: number
  /** Of width × height, before resizing. A small file may unpack to any number of pixels. */
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
