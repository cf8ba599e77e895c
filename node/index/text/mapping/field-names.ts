// Names of index fields, and the other spellings that queries may use for them.

export const ALL_FIELD = '_all'
export const TYPE_FIELD = '_type'
export const KEYWORD_SUFFIX = '__keyword'
export const PREFIX_SUFFIX = '__2gram'
/** See exact-numbers.ts. No member of a document with such a name is indexed. */
export const EXACT_SUFFIX = '\u0000exact'
/** Documents have it beside a field of text whose values have no words. No member has such a name. */
export const WORDLESS_SUFFIX = '\u0000wordless'

const ALIASES: readonly (readonly [string, string])[] = [
  ['.keyword', KEYWORD_SUFFIX],
  ['._2gram', PREFIX_SUFFIX],
  ['._3gram', PREFIX_SUFFIX],
  ['._index_prefix', PREFIX_SUFFIX],
]

/** The index fields that a query may mean by `name`, the likeliest first. */
export function candidateNames(name: string): readonly string[] {
  const alias = ALIASES.find(([ending]) => name.endsWith(ending))
  const renamed = alias === undefined ? [] : [name.slice(0, -alias[0].length) + alias[1]]
  const names = [name, ...renamed]
  // A field that is a keyword and nothing else is its own sub-field.
  const keywords = names.filter((one) => one.endsWith(KEYWORD_SUFFIX))
  return [...names, ...keywords.map((one) => one.slice(0, -KEYWORD_SUFFIX.length))]
}
