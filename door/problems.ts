// The one place that turns what validators find into sentences for clients.

import { isJsonRecord } from '../lib/json-record.ts'

/** Something in a request that does not fit the contract. */
export interface ContractProblem {
  /** `body`, `query`, `params`, `headers`; '' if the validator does not say. */
  readonly place: string
  /** Such as `shards[0].start`; '' for the whole of the place. */
  readonly field: string
  /** The keyword of JSON Schema that was broken; `unknown` and `empty` are those of a query parameter. */
  readonly keyword: string
  /** What must be, in the validator's words: `must be integer`. */
  readonly text: string
}

/** Says a problem in words of the API's own; undefined: in the usual ones. */
export type Explain = (problem: ContractProblem) => string | undefined

const FIELD_LENGTH_MAX = 200

/** The sentence for one of the problems that the validator lists for a request. */
export function sentenceOf(
  errors: readonly unknown[],
  { explain, docs, query }: SentenceContext,
): string | undefined {
  const problem = mainProblem(errors.filter(isJsonRecord).map((error) => problemOf(error, query)))
  return problem === undefined ? undefined : (explain?.(problem) ?? usualSentence(problem, docs))
}

/** What a sentence may need beside the problem. */
export interface SentenceContext {
  readonly explain: Explain | undefined
  /** Where the contract can be read. */
  readonly docs: string
  /** The query of the request, parsed. */
  readonly query: Readonly<Record<string, unknown>>
}

function usualSentence({ place, field, keyword, text }: ContractProblem, docs: string): string {
  const advice = `the contract at ${docs} lists the known ones`
  switch (keyword) {
    case 'additionalProperties':
      return `unknown field "${field}"; ${advice}`
    case 'unknown':
      return `unknown query parameter "${field}"; ${advice}`
    case 'empty':
      return `${field} is empty; give it a value or leave it out`
    case 'required':
      return `${field} is required`
    default:
      return field === '' ? `the ${place || 'request'} ${text}` : `${field} ${text}`
  }
}

/**
 * The validator stops at the first value that does not fit. Where several forms are possible, it
 * reports a problem with each. The client meant the form that is right down to a member; or else one that has the type of
 * the value, and whose limit it is beyond; or else one whose members are of another type. If no form has the type of the value, the
 * sentence names all types.
 */
function mainProblem(problems: readonly ContractProblem[]): ContractProblem | undefined {
  const [first] = problems
  const choice = problems.findLast(({ keyword }) => keyword === 'anyOf')
  if (first === undefined || choice === undefined) return first
  const within = problems.filter(({ field }) => field !== choice.field)
  const forms = problems.filter(({ keyword, field }) => {
    return keyword !== 'anyOf' && field === choice.field
  })
  const isOfRightType = ({ keyword }: ContractProblem): boolean => keyword !== 'type'
  const meant = within.find(isOfRightType) ?? widest(forms.filter(isOfRightType)) ?? within[0]
  if (meant !== undefined) return meant
  const types = forms.map(({ text }) => text.replace(MUST_BE, ''))
  return { ...choice, text: `must be ${[...new Set(types)].join(' or ')}` }
}

/** A list that is longer than each of several forms allows is told the longest. */
function widest(forms: readonly ContractProblem[]): ContractProblem | undefined {
  const limitOf = ({ text }: ContractProblem): number => Number(/\d+/.exec(text)?.[0] ?? 0)
  const lists = forms.filter(({ keyword }) => keyword === 'maxItems')
  return lists.length < forms.length
    ? forms[0]
    : lists.toSorted((a, b) => limitOf(b) - limitOf(a))[0]
}

const MUST_BE = /^must be /

function problemOf(
  { path, message, errorCode }: Readonly<Record<string, unknown>>,
  query: SentenceContext['query'],
): ContractProblem {
  const [, place = '', ...steps] = String(path).split('/')
  const field = steps.reduce((whole, step) => {
    if (/^\d+$/.test(step)) return `${whole}[${step}]`
    return whole === '' ? step : `${whole}.${step}`
  }, '')
  const [keyword = ''] = typeof errorCode === 'string' ? errorCode.split('.', 1) : []
  return {
    place,
    field: field.slice(0, FIELD_LENGTH_MAX),
    keyword: keyword || (place === 'query' ? queryKeyword(query[field]) : ''),
    text: keyword === 'pattern' ? lengthText(String(message)) : listText(String(message)),
  }
}

/** The validator names no keyword for what it finds in a query by itself. */
function queryKeyword(value: unknown): string {
  return value === '' ? 'empty' : 'unknown'
}

/** The validator joins the allowed values, and null becomes an empty text there. */
function listText(text: string): string {
  return text.replace(/, $/, ', null').replace(/,(?=\S)/, ' or ')
}

/** A pattern that stands for a limit of length, as `withPatternsForLengths` writes it. */
const LENGTH_PATTERN = /^must match pattern "\^\[\\s\\S\]\{(?:0,(?<most>\d+)\}\$|(?<least>\d+)\})"$/

function lengthText(text: string): string {
  const { most, least } = LENGTH_PATTERN.exec(text)?.groups ?? {}
  if (most !== undefined) return `must NOT have more than ${most} characters`
  return least === undefined ? text : `must NOT have fewer than ${least} characters`
}

/**
 * The validator counts all characters of a text to compare their number, which takes a tenth of a second
 * for a body of the largest size; a pattern stops at the limit.
 */
export function withPatternsForLengths<Schema>(schema: Schema): Schema {
  if (Array.isArray(schema)) for (const each of schema) withPatternsForLengths(each)
  if (!isJsonRecord(schema)) return schema
  for (const member of Object.values(schema)) withPatternsForLengths(member)
  const { minLength, maxLength } = schema
  const patterns = [
    ...(typeof minLength === 'number' ? [`^[\\s\\S]{${minLength}}`] : []),
    ...(typeof maxLength === 'number' ? [`^[\\s\\S]{0,${maxLength}}$`] : []),
  ]
  if (patterns.length === 0 || 'allOf' in schema) return schema
  const rest = { ...schema, allOf: patterns.map((pattern) => ({ pattern })) }
  for (const key of Object.keys(schema)) Reflect.deleteProperty(schema, key)
  Reflect.deleteProperty(rest, 'minLength')
  Reflect.deleteProperty(rest, 'maxLength')
  return Object.assign(schema, rest)
}
