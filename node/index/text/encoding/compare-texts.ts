// The one order of texts: that of their characters (code points), which is the order of the bytes of
// their UTF-8. Terms, values, bounds of ranges, sort keys and keys of documents all have it; keys are
// held as texts of one code unit a byte, for which it is the order of these bytes.
//
// The order of code units, that of `<`, is another one: a surrogate stands for a character above U+FFFF,
// and is less than U+E000 to U+FFFF as a unit.
//
// test/unit/node/index/text/encoding/order-shortcuts.test.ts holds everything to it that takes a shortcut.

const LEAST_SURROGATE = 0xd800
const BEHIND_SURROGATES = 0xe000
const RANK_MAX = 0xffff
/** A text with one of these may have another order by code units. */
const MAY_DIFFER = /[\ud800-\uffff]/
/** Beyond 32 equal units, asking what units the texts have and comparing them as memory is faster. */
const UNITS_COMPARED_SINGLY = 32

/** Whether `<` orders the text and another one, whatever that is, as `compareTexts` does. */
export function isOrderedByUnits(text: string): boolean {
  return !MAY_DIFFER.test(text)
}

/** Orders units so that texts, unit by unit, are in the order of their characters. */
export function rankOfUnit(unit: number): number {
  if (unit < LEAST_SURROGATE) return unit
  return unit < BEHIND_SURROGATES ? unit + 0x2000 : unit - 0x800
}

/** Negative if `a` comes first, 0 for equal texts. Lone surrogates come behind all other characters. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  const few = Math.min(length, UNITS_COMPARED_SINGLY)
  for (let at = 0; at < few; at += 1) {
    const order = a.charCodeAt(at) - b.charCodeAt(at)
    if (order !== 0) return orderOfUnits(a, b, at)
  }
  if (few === length) return a.length - b.length
  if (isOrderedByUnits(a) || isOrderedByUnits(b)) {
    if (a === b) return 0
    return a < b ? -1 : 1
  }
  for (let at = few; at < length; at += 1) {
    if (a.charCodeAt(at) !== b.charCodeAt(at)) return orderOfUnits(a, b, at)
  }
  return a.length - b.length
}

function orderOfUnits(a: string, b: string, at: number): number {
  return rankOfUnit(a.charCodeAt(at)) - rankOfUnit(b.charCodeAt(at))
}

/**
 * A text above all texts with the prefix and below all others that are above the prefix; undefined if
 * none can be above. It may end with half a character.
 */
export function endOfPrefix(prefix: string): string | undefined {
  for (let end = prefix.length; end > 0; end -= 1) {
    const rank = rankOfUnit(prefix.charCodeAt(end - 1))
    if (rank < RANK_MAX) return prefix.slice(0, end - 1) + unitOfRank(rank + 1)
  }
  return undefined
}

function unitOfRank(rank: number): string {
  if (rank < LEAST_SURROGATE) return String.fromCharCode(rank)
  const unit = rank + 0x800 > RANK_MAX ? rank - 0x2000 : rank + 0x800
  return String.fromCharCode(unit)
}
