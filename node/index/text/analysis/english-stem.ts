// Porter's stemmer for English (M. Porter, "An algorithm for suffix stripping", 1980).
//
// The package's version of it also takes the letter in front of `-ion` away in step 4, so that
// "connection" and "connect" would have different stems. That one rule is applied here.

import { stemmer } from '@orama/stemmers/english'

// Words in -ation lose it in step 2, which the package does right. -ional becomes -ion there.
const ION = /^(.*(?:s|[^a]t))ion(?:s|al)?$/
/** Porter's m > 1: at least two runs of vowels, each followed by a consonant. */
const IS_LONG = /^(?:[^aeiou][^aeiouy]*)?(?:[aeiouy][aeiou]*[^aeiou][^aeiouy]*){2}/

export function stemEnglish(word: string): string {
  const stem = ION.exec(word)?.[1]
  return stem !== undefined && IS_LONG.test(stem) ? stem : stemmer(word)
}
