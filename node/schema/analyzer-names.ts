/** The languages with a stemmer and a list of stop words. */
export const LANGUAGE_NAMES = [
  'arabic',
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'hungarian',
  'italian',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'spanish',
  'swedish',
  'turkish',
] as const
export type LanguageName = (typeof LANGUAGE_NAMES)[number]

/** The names of the analyzers. An analyzer splits the text of a field into terms. */
export const ANALYZER_NAMES = [
  'standard',
  'html',
  'simple',
  'whitespace',
  'keyword',
  'search_as_you_type',
  ...LANGUAGE_NAMES,
] as const
export type AnalyzerName = (typeof ANALYZER_NAMES)[number]
