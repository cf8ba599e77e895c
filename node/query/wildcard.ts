// Wildcard patterns: `*` stands for any run of characters, `?` for exactly one. No regular
// expression and no backtracking beyond the last `*`: at most pattern × text steps.

/** The pattern's code points. */
export type Wildcard = readonly string[]

export function parseWildcard(pattern: string): Wildcard {
  return Array.from(pattern)
}

export function matchesWildcard(pattern: Wildcard, text: string): boolean {
  const characters = Array.from(text)
  let at = 0
  let next = 0
  /** The last `*` seen, and the first character that it has not swallowed. */
  let star = -1
  let resume = 0
  while (at < characters.length) {
    const wanted = pattern[next]
    if (wanted === '*') {
      star = next++
      resume = at
    } else if (wanted === '?' || wanted === characters[at]) {
      next++
      at++
    } else if (star >= 0) {
      next = star + 1
      at = ++resume
    } else {
      return false
    }
  }
  while (pattern[next] === '*') next++
  return next === pattern.length
}
