// The languages with a stemmer and a stop list, both from the Orama packages (Snowball's stemmers).

import { stemmer as arabic } from '@orama/stemmers/arabic'
import { stemmer as danish } from '@orama/stemmers/danish'
import { stemmer as dutch } from '@orama/stemmers/dutch'
import { stemmer as finnish } from '@orama/stemmers/finnish'
import { stemmer as french } from '@orama/stemmers/french'
import { stemmer as german } from '@orama/stemmers/german'
import { stemmer as hungarian } from '@orama/stemmers/hungarian'
import { stemmer as italian } from '@orama/stemmers/italian'
import { stemmer as norwegian } from '@orama/stemmers/norwegian'
import { stemmer as portuguese } from '@orama/stemmers/portuguese'
import { stemmer as romanian } from '@orama/stemmers/romanian'
import { stemmer as russian } from '@orama/stemmers/russian'
import { stemmer as spanish } from '@orama/stemmers/spanish'
import { stemmer as swedish } from '@orama/stemmers/swedish'
import { stemmer as turkish } from '@orama/stemmers/turkish'
import { stopwords as arabicStops } from '@orama/stopwords/arabic'
import { stopwords as danishStops } from '@orama/stopwords/danish'
import { stopwords as dutchStops } from '@orama/stopwords/dutch'
import { stopwords as englishStops } from '@orama/stopwords/english'
import { stopwords as finnishStops } from '@orama/stopwords/finnish'
import { stopwords as frenchStops } from '@orama/stopwords/french'
import { stopwords as germanStops } from '@orama/stopwords/german'
import { stopwords as hungarianStops } from '@orama/stopwords/hungarian'
import { stopwords as italianStops } from '@orama/stopwords/italian'
import { stopwords as norwegianStops } from '@orama/stopwords/norwegian'
import { stopwords as portugueseStops } from '@orama/stopwords/portuguese'
import { stopwords as romanianStops } from '@orama/stopwords/romanian'
import { stopwords as russianStops } from '@orama/stopwords/russian'
import { stopwords as spanishStops } from '@orama/stopwords/spanish'
import { stopwords as swedishStops } from '@orama/stopwords/swedish'
import { stopwords as turkishStops } from '@orama/stopwords/turkish'
import type { AnalyzerName } from '../../../schema/analyzer-names.ts'
import { stemEnglish } from './english-stem.ts'
import { ROMANIAN_LOWER_CASE, RUSSIAN_LOWER_CASE, TURKISH_LOWER_CASE } from './fold-term.ts'
import { normalizeGerman } from './german-normalization.ts'
import type { Folding } from './fold-term.ts'

/** The rules of one language, in the order: fold, clitic, stop words, spelling, stem. */
export interface Language {
  readonly name: AnalyzerName
  readonly stem: (word: string) => string
  readonly stopWords: readonly string[]
  /** Removed from the word first: articles with an apostrophe, the genitive. */
  readonly clitic: RegExp | undefined
  /** The default is LOWER_CASE. */
  readonly fold?: Folding
  /** Unifies spellings of a word, after the stop words and before the stemmer. */
  readonly spell?: (word: string) => string
}

const FRENCH_ELISION = /^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)'/
const ITALIAN_ELISION =
  /^(?:[cdlmnstv]|all|agl|coll|dall|dell|gl|nell|nonch|qu|quell|quest|sull|un)'/

export const LANGUAGES: readonly Language[] = [
  { name: 'arabic', stem: arabic, stopWords: arabicStops, clitic: undefined },
  { name: 'danish', stem: danish, stopWords: danishStops, clitic: undefined },
  { name: 'dutch', stem: dutch, stopWords: dutchStops, clitic: undefined },
  { name: 'english', stem: stemEnglish, stopWords: englishStops, clitic: /'s?$/ },
  { name: 'finnish', stem: finnish, stopWords: finnishStops, clitic: undefined },
  { name: 'french', stem: french, stopWords: frenchStops, clitic: FRENCH_ELISION },
  {
    name: 'german',
    stem: german,
    stopWords: germanStops,
    clitic: undefined,
    spell: normalizeGerman,
  },
  { name: 'hungarian', stem: hungarian, stopWords: hungarianStops, clitic: undefined },
  { name: 'italian', stem: italian, stopWords: italianStops, clitic: ITALIAN_ELISION },
  { name: 'norwegian', stem: norwegian, stopWords: norwegianStops, clitic: undefined },
  { name: 'portuguese', stem: portuguese, stopWords: portugueseStops, clitic: undefined },
  {
    name: 'romanian',
    stem: romanian,
    stopWords: romanianStops,
    clitic: undefined,
    fold: ROMANIAN_LOWER_CASE,
  },
  {
    name: 'russian',
    stem: russian,
    stopWords: russianStops,
    clitic: undefined,
    fold: RUSSIAN_LOWER_CASE,
  },
  { name: 'spanish', stem: spanish, stopWords: spanishStops, clitic: undefined },
  { name: 'swedish', stem: swedish, stopWords: swedishStops, clitic: undefined },
  {
    name: 'turkish',
    stem: turkish,
    stopWords: turkishStops,
    clitic: undefined,
    fold: TURKISH_LOWER_CASE,
  },
]
