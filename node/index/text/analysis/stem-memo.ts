// Caches stems. A stemmer takes a microsecond or more, and few words make up most of a text.

const WORDS_MAX = 20_000
/**
 * In V8, a longer word refers to the whole text that it was cut from, and a cache would keep that
 * text alive.
 */
const WORD_LENGTH_MAX = 12

/** The same function with a bounded cache, which belongs to one analyzer. */
export function remembering(stem: (word: string) => string): (word: string) => string {
  const stems = new Map<string, string>()
  return (word) => {
    if (word.length > WORD_LENGTH_MAX) return stem(word)
    const known = stems.get(word)
    if (known !== undefined) return known
    const found = stem(word)
    if (stems.size >= WORDS_MAX) stems.clear()
    stems.set(word, found)
    return found
  }
}
