// The alphabet of byte-level vocabularies: a printable byte is its own character, and the other
// bytes are the characters from 256 on.

const CHARACTERS: readonly string[] = buildAlphabet()
const BYTE_BY_CHARACTER: ReadonlyMap<string, number> = new Map(
  CHARACTERS.map((character, byte) => [character, byte]),
)
const encoder = new TextEncoder()

/** The UTF-8 bytes of a text, one character of the alphabet for each. */
export function spellBytes(text: string): string {
  let spelled = ''
  for (const byte of encoder.encode(text)) spelled += CHARACTERS[byte] ?? ''
  return spelled
}

/**
 * The bytes that a token spells. A token with a character outside the alphabet has its UTF-8 bytes.
 */
export function bytesOfToken(token: string): readonly number[] {
  const bytes = Array.from(token, (character) => BYTE_BY_CHARACTER.get(character))
  return bytes.every((byte) => byte !== undefined) ? bytes : [...encoder.encode(token)]
}

function buildAlphabet(): string[] {
  let others = 0
  return Array.from({ length: 256 }, (_, byte) => {
    if (isPrintable(byte)) return String.fromCharCode(byte)
    others += 1
    return String.fromCharCode(255 + others)
  })
}

function isPrintable(byte: number): boolean {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
}
