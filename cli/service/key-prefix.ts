// Keys are ordered by their UTF-8 bytes, which is the order of their code points.

const CODE_POINT_MAX = 0x10ffff
const SURROGATE_FIRST = 0xd800
const SURROGATE_LAST = 0xdfff

/** The first key behind all that begin with `prefix`; undefined when no key can be behind them. */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === CODE_POINT_MAX) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  // Surrogates are no characters of their own: behind U+D7FF comes U+E000.
  const next = last + 1 === SURROGATE_FIRST ? SURROGATE_LAST + 1 : last + 1
  return String.fromCodePoint(...points, next)
}

export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
