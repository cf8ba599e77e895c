// How a table's text becomes terms: the analyzers that the product has, and the table's own default.

import { withParts } from '../analysis/identifier-parts.ts'
import { buildHtmlAnalyzer } from '../analysis/html-analyzer.ts'
import {
  analyzerOf,
  analyzerWithout,
  HTML_PREFIX,
  queryAnalyzerOf,
  stopWordsOf,
} from '../analysis/analyzers.ts'
import { DocumentTerms } from './document-terms.ts'
import { SynonymTable } from './synonyms.ts'
import { WordMemory } from './word-memory.ts'
import type { Analyzer } from '../analysis/analyzer.ts'
import type { TextSettings } from '../../../schema/text-settings.ts'

/** Names the table's default analyzer where the table has stop words of its own. */
const OWN = 'table'

/** By name, the analyzers of fields that name none, and of `_all`. */
export interface DefaultAnalyzers {
  readonly plain: string
  readonly html: string
}

/** Analyzers whose terms are not the words of a language. */
const WITHOUT_PARTS: ReadonlySet<string> = new Set([
  'simple',
  'whitespace',
  'keyword',
  'search_as_you_type',
])

/** Analyzers are built when they are first asked for, and kept. */
export class TableAnalysis {
  readonly defaults: DefaultAnalyzers
  readonly #settings: TextSettings
  readonly #ofDocuments = new Map<string, Analyzer | undefined>()
  readonly #ofQueries = new Map<string, Analyzer | undefined>()
  readonly #synonyms = new Map<string, SynonymTable>()
  readonly #words: WordMemory

  /** The words of documents are kept in `words`. */
  constructor(settings: TextSettings = {}, words = new WordMemory()) {
    this.#settings = settings
    this.#words = words
    this.defaults = defaultsOf(settings)
  }

  get hasSynonyms(): boolean {
    return (this.#settings.synonyms ?? []).length > 0
  }

  /** The analyzer for the text of documents; undefined for an unknown name. */
  ofDocuments(name: string): Analyzer | undefined {
    if (!this.#ofDocuments.has(name)) {
      const built = this.#build(name, analyzerOf)
      const hasWords = built !== undefined && !WITHOUT_PARTS.has(name)
      this.#ofDocuments.set(name, hasWords ? withParts(built) : built)
    }
    return this.#ofDocuments.get(name)
  }

  /** The terms for the next document: it keeps to them, though the one after may get others. */
  termsOfDocument(): DocumentTerms {
    return this.#words.termsOf(this, () => new DocumentTerms((name) => this.ofDocuments(name)))
  }

  /** For the text of queries; undefined if there is no analyzer of this name. */
  ofQueries(name: string): Analyzer | undefined {
    if (!this.#ofQueries.has(name)) this.#ofQueries.set(name, this.#build(name, queryAnalyzerOf))
    return this.#ofQueries.get(name)
  }

  /** In terms of this analyzer; undefined if the table has none. */
  synonyms(name: string): SynonymTable | undefined {
    const { synonyms = [] } = this.#settings
    const analyzer = this.ofQueries(name)
    if (synonyms.length === 0 || analyzer === undefined) return undefined
    const table = this.#synonyms.get(name) ?? new SynonymTable(synonyms, analyzer)
    this.#synonyms.set(name, table)
    return table
  }

  #build(name: string, build: (name: string) => Analyzer | undefined): Analyzer | undefined {
    if (name === OWN) return this.#ownAnalyzer()
    if (name !== HTML_PREFIX + OWN) return build(name)
    const own = this.#ownAnalyzer()
    return build === queryAnalyzerOf ? own : buildHtmlAnalyzer(name, own)
  }

  #ownAnalyzer(): Analyzer {
    const { language, stop_words: chosen = 'none' } = this.#settings
    const words = chosen === 'none' ? [] : typeof chosen === 'string' ? stopWordsOf(chosen) : chosen
    return analyzerWithout(words, { name: OWN, language })
  }
}

function defaultsOf({ language, stop_words: stopWords }: TextSettings): DefaultAnalyzers {
  if (stopWords !== undefined) return { plain: OWN, html: HTML_PREFIX + OWN }
  if (language === undefined) return { plain: 'standard', html: 'html' }
  return { plain: language, html: HTML_PREFIX + language }
}
