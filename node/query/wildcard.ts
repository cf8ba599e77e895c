// Wildcard patterns: `*` stands for any run of characters, `?` for exactly one, and `\` takes the
// meaning from the character behind it. No regular expression and no backtracking beyond the last
// `*`: at most pattern × text steps.

/** Code points to meet, and the two wildcards. */
export type Wildcard = readonly string[]

// Two characters long, so that no code point of a text equals them.
const ANY_RUN = '**'
const ANY_ONE = '??'

export function parseWildcard(pattern: string): Wildcard {
  const steps: string[] = []
  let isEscaped = false
  for (const character of pattern) {
    if (isEscaped) steps.push(character)
    else if (character === '*') steps.push(ANY_RUN)
    else if (character === '?') steps.push(ANY_ONE)
    else if (character !== '\\') steps.push(character)
    isEscaped = !isEscaped && character === '\\'
  }
  if (isEscaped) steps.push('\\')
  return steps
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
    if (wanted === ANY_RUN) {
      star = next++
      resume = at
    } else if (wanted === ANY_ONE || wanted === characters[at]) {
      next++
      at++
    } else if (star >= 0) {
      next = star + 1
      at = ++resume
    } else {
      return false
    }
  }
  while (pattern[next] === ANY_RUN) next++
  return next === pattern.length
}
