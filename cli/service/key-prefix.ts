// The order of keys: by their UTF-8 bytes, which equals the order of their code points.

const CODE_POINT_MAX = 0x10ffff
const SURROGATE_FIRST = 0xd800
const SURROGATE_LAST = 0xdfff

/** The first key after all keys with the prefix; undefined when no key can follow them. */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === CODE_POINT_MAX) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  // Surrogates are not characters: U+E000 follows U+D7FF.
  const next = last + 1 === SURROGATE_FIRST ? SURROGATE_LAST + 1 : last + 1
  return String.fromCodePoint(...points, next)
}

/** Compares two keys for sorting. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
