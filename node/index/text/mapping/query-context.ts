// The state that all parts of one query share while they are resolved: the mapping and the
// warnings.

import { must } from '../../../../lib/assert.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { StepMeter } from '../../../../lib/sliced.ts'
import { TABLE_FIELDS_MAX } from '../../../schema/table-field.ts'
import { QUERY_TERMS_MAX } from '../../../query/query-limits.ts'
import { ALL_FIELD, PREFIX_SUFFIX } from './field-names.ts'
import { plainSpans, type TokenSpan } from './synonyms.ts'
import type { Analyzer } from '../analysis/analyzer.ts'
import type { EngineQuery } from '../engine-query.ts'
import type { IndexableToken } from '../indexable-document.ts'
import type { FieldName } from '../../../query/query-tree.ts'
import type { FieldMapping } from './field-mapping.ts'
import type { IndexedField } from './field-registry.ts'

export const NOTHING: EngineQuery = { kind: 'none' }
const WARNINGS_MAX = 20
const FULL_LIST =
  `the table has all the ${TABLE_FIELDS_MAX} fields that no schema describes and that it may have: texts of ` +
  'further fields are found by queries without a field name alone; describe the fields that are searched in a schema'
const TERMS_PER_STEP = 512
/** The most terms that synonyms add to a query. */
const SYNONYM_TERMS_MAX = 1024

/** What a query means for fields that cannot answer it. */
export interface ResolutionRules {
  /** For a field of another kind: by default the query is refused; else this part matches nothing. */
  readonly unfit?: 'refused' | 'unmatched'
  /**
   * For a field that a schema leaves out of the index: by default this part matches nothing, with a
   * warning. A caller that cannot pass warnings on refuses it.
   */
  readonly unlisted?: 'refused' | 'unmatched'
}

/** Resolves the fields and analyzers of one query and collects its warnings. */
export class QueryContext {
  readonly mapping: FieldMapping
  readonly rules: ResolutionRules
  readonly #warnings = new Set<string>()
  readonly #meter = new StepMeter(TERMS_PER_STEP)
  #termsLeft = QUERY_TERMS_MAX
  #synonymTermsLeft = SYNONYM_TERMS_MAX
  #isPauseDue = false

  constructor(mapping: FieldMapping, rules: ResolutionRules = {}) {
    this.mapping = mapping
    this.rules = rules
  }

  get hasSynonyms(): boolean {
    return this.mapping.analysis.hasSynonyms
  }

  get warnings(): readonly string[] {
    return [...this.#warnings]
  }

  /** Whether a pause is due. Resolving one part counts as much as one term. */
  takePause(): boolean {
    const isDue = this.#meter.spend(1) || this.#isPauseDue
    this.#isPauseDue = false
    return isDue
  }

  /** Counts terms. Throws INVALID_ARGUMENT for more than all texts of a query may have together. */
  takeTerms({ indexField }: IndexedField, count: number): void {
    if (this.#meter.spend(count)) this.#isPauseDue = true
    this.#termsLeft -= count
    if (this.#termsLeft >= 0) return
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `the texts of the query have more than ${QUERY_TERMS_MAX} words together; the limit was reached ` +
        `in field "${indexField}"; use shorter texts`,
    )
  }

  warn(message: string): void {
    if (this.#warnings.size < WARNINGS_MAX) this.#warnings.add(message)
  }

  /**
   * Answers undefined, with a warning, if no document has the field. Throws INVALID_ARGUMENT if it
   * is not indexed.
   */
  field(name: FieldName): IndexedField | undefined {
    const found = this.mapping.resolveField(name)
    if (this.mapping.isFull && (found === undefined || name === undefined)) this.warn(FULL_LIST)
    if (found === undefined) {
      this.#warnOfAbsence(name)
      return undefined
    }
    if (found.kind !== 'unindexed') return found
    throw refusal(
      name,
      `is not indexed: it ${found.reason}; give it a type in x-service-types that is searched, ` +
        'without x-service-index: false',
    )
  }

  #warnOfAbsence(name: FieldName): void {
    if (name === undefined || name === ALL_FIELD) {
      this.#unlisted(
        'no field is searched by default: name the field, or list fields in x-service-include-in-all',
      )
    } else if (this.mapping.isLeftOut(name)) {
      this.#unlisted(
        `field "${name}" is not indexed: a schema leaves out what it does not mention ` +
          '(x-service-dynamic or additionalProperties)',
      )
    } else {
      this.warn(`no document has a field "${name}"`)
    }
  }

  #unlisted(message: string): void {
    if (this.rules.unlisted === 'refused') throw new ServiceError('INVALID_ARGUMENT', message)
    this.warn(message)
  }

  /** The analyzer for text in queries on the field. `override` is the client's choice. */
  analyzer(field: IndexedField, override: string | undefined): Analyzer {
    const name = analyzerName(field, override)
    return must(
      this.mapping.analysis.ofQueries(name),
      `analyzer ${name}, which was checked with the schema or query`,
    )
  }

  /** The analyzer for text of documents in the field. */
  documentAnalyzer({ analyzer }: IndexedField): Analyzer {
    const name = analyzer ?? 'keyword'
    return must(
      this.mapping.analysis.ofDocuments(name),
      `analyzer ${name}, which was checked with the schema`,
    )
  }

  /** The tokens of a text for the field, with the table's synonyms for them. */
  spans(
    field: IndexedField,
    tokens: readonly IndexableToken[],
    override?: string,
  ): readonly TokenSpan[] {
    const hasWords = field.kind === 'text' && !field.indexField.endsWith(PREFIX_SUFFIX)
    const table = this.mapping.analysis.synonyms(analyzerName(field, override))
    if (table === undefined || !hasWords) return plainSpans(tokens)
    const spans = table.spansOf(tokens)
    return spans.flatMap((span) => (this.#takeSynonyms(span) ? [span] : plainSpans(span.tokens)))
  }

  #takeSynonyms({ alternatives }: TokenSpan): boolean {
    const count = alternatives.reduce((sum, { length }) => sum + length, 0)
    if (count > this.#synonymTermsLeft) {
      this.warn('the query has too many synonyms: those of its last words were not looked for')
      return false
    }
    this.#synonymTermsLeft -= count
    return true
  }
}

function analyzerName(field: IndexedField, override: string | undefined): string {
  return override ?? field.analyzer ?? 'keyword'
}

/** A query that its field cannot answer. */
export class UnfitFieldError extends ServiceError {}

export function refusal(name: FieldName, problem: string): UnfitFieldError {
  return new UnfitFieldError('INVALID_ARGUMENT', `field "${name ?? ALL_FIELD}" ${problem}`)
}
