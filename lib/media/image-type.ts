/** The image formats that are served, by their media types. */
export type ImageType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif'

/** https://mimesniff.spec.whatwg.org/#matching-an-image-type-pattern */
const SIGNATURES: readonly { readonly type: ImageType; readonly bytes: readonly number[] }[] = [
  { type: 'image/png', bytes: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { type: 'image/jpeg', bytes: [0xff, 0xd8, 0xff] },
  { type: 'image/gif', bytes: [0x47, 0x49, 0x46, 0x38, 0x37, 0x61] },
  { type: 'image/gif', bytes: [0x47, 0x49, 0x46, 0x38, 0x39, 0x61] },
]
const RIFF = [0x52, 0x49, 0x46, 0x46]
const WEBP_VP = [0x57, 0x45, 0x42, 0x50, 0x56, 0x50]

/**
 * The type of an image by its first bytes. The declared media type is ignored, because a sender
 * could use it to choose a decoder. Undefined for formats that are not served, such as SVG, which
 * can hold scripts.
 */
export function sniffImageType(bytes: Uint8Array): ImageType | undefined {
  if (hasAt(bytes, 0, RIFF) && hasAt(bytes, 8, WEBP_VP)) return 'image/webp'
  return SIGNATURES.find((signature) => hasAt(bytes, 0, signature.bytes))?.type
}

function hasAt(bytes: Uint8Array, at: number, expected: readonly number[]): boolean {
  return expected.every((byte, offset) => bytes[at + offset] === byte)
}
