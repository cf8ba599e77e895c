// Porter's stemmer for English (M. Porter, "An algorithm for suffix stripping", 1980).
//
// The package's version also removes the letter before `-ion` in step 4, so "connection" and
// "connect" would have different stems. This file applies that one rule as Porter wrote it.

import { stemmer } from '@orama/stemmers/english'

// Words in -ation lose it in step 2, which the package implements correctly. There, -ional becomes
// -ion.
const ION = /^(.*(?:s|[^a]t))ion(?:s|al)?$/
/** Porter's m > 1: at least two runs of vowels, each followed by a consonant. */
const IS_LONG = /^(?:[^aeiou][^aeiouy]*)?(?:[aeiouy][aeiou]*[^aeiou][^aeiouy]*){2}/

export function stemEnglish(word: string): string {
  const stem = ION.exec(word)?.[1]
  return stem !== undefined && IS_LONG.test(stem) ? stem : stemmer(word)
}
