// Checks requests against a contract. The only file that knows express-openapi-validator.

import type { Request, RequestHandler, Response } from 'express'
import { middleware as openApiMiddleware } from 'express-openapi-validator'
import { ServiceError } from '../lib/errors.ts'
import { isJsonRecord } from '../lib/json-record.ts'
import type { ContractDocument } from './contract.ts'

type ApiSpec = Parameters<typeof openApiMiddleware>[0]['apiSpec']

export interface Unvalidated {
  readonly request: Request
  readonly response: Response
  /** The parsed body; undefined if there is none to check here. */
  readonly json: unknown
}

/** Rejects with INVALID_ARGUMENT when the request does not fit the contract. */
export type RequestValidator = (unvalidated: Unvalidated) => Promise<void>

/** A thing that does not fit. */
export interface ContractProblem {
  /** `body`, `query` and so on; '' if it is not said. */
  readonly place: string
  /** Such as `shards[0].start`; '' for the whole of the place. */
  readonly field: string
  /** In the words of the validator. */
  readonly text: string
}

/**
 * The validator counts all characters of a text to compare their number, which takes a tenth of a second
 * for a body of the largest size; a pattern is done after as many as the limit.
 */
function withPatternsForLengths<Schema>(schema: Schema): Schema {
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

const LENGTH_PATTERN = /^must match pattern "\^\[\\s\\S\]\{(?:0,(?<most>\d+)\}\$|(?<least>\d+)\})"$/

/** In the words that the validator has for lengths. */
function lengthText(text: string): string {
  const { most, least } = LENGTH_PATTERN.exec(text)?.groups ?? {}
  if (most !== undefined) return `must NOT have more than ${most} characters`
  return least === undefined ? text : `must NOT have fewer than ${least} characters`
}

/** `explain` says a problem to the client. */
export function buildRequestValidator(
  document: ContractDocument,
  explain: (problem: ContractProblem) => string,
): RequestValidator {
  // A copy, because the validator rewrites what it is given.
  const apiSpec: ApiSpec = withPatternsForLengths(JSON.parse(JSON.stringify(document)))
  const handlers = openApiMiddleware({
    apiSpec,
    validateApiSpec: false, // test/contract does that once, instead of every start
    validateRequests: { allowUnknownQueryParameters: false, coerceTypes: false },
    validateResponses: false,
    validateSecurity: false,
    fileUploader: false,
  })
  return async ({ request, response, json }) => {
    request.body = json
    // Whatever JSON type was accepted counts as this one: the validator keeps a compiled schema for
    // each type it meets, and clients could invent them for ever.
    if (json === undefined) delete request.headers['content-type']
    else request.headers['content-type'] = 'application/json'
    try {
      for (const handler of handlers) await run(handler, request, response)
    } catch (error) {
      throw translated(error, explain)
    }
  }
}

function run(handler: RequestHandler, request: Request, response: Response): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (error?: unknown): void => {
      if (error === undefined) resolve()
      else reject(error)
    }
    try {
      void handler(request, response, next)
    } catch (error) {
      next(error)
    }
  })
}

function translated(error: unknown, explain: (problem: ContractProblem) => string): unknown {
  if (!(error instanceof Error) || !('status' in error) || error.status !== 400) return error
  const errors: readonly unknown[] =
    'errors' in error && Array.isArray(error.errors) ? error.errors : []
  const problem = mainProblem(errors.filter(isJsonRecord).map(problemOf))
  const message = problem === undefined ? error.message : explain(problem)
  return new ServiceError('INVALID_ARGUMENT', message, { cause: error })
}

const NO_CHOICE = 'must match a schema in anyOf'
const WRONG_TYPE = /^must be (?<type>(?:null|string|number|integer|boolean|object|array)[a-z ]*)$/

/**
 * The validator stops at the first thing that does not fit. Where several forms are possible, it has
 * something against each: a form whose type is right is the one that was meant, and if there is none,
 * all of the types are told.
 */
function mainProblem(problems: readonly ContractProblem[]): ContractProblem | undefined {
  const [first] = problems
  const choice = problems.findLast(({ text }) => text === NO_CHOICE)
  if (first === undefined || choice === undefined) return first
  const within = problems.find(({ field }) => field !== choice.field)
  if (within !== undefined) return within
  const others = problems.filter(({ text }) => text !== NO_CHOICE)
  const types = others.map(({ text }) => WRONG_TYPE.exec(text)?.groups?.['type'])
  const ofRightType = others[types.indexOf(undefined)]
  return ofRightType ?? { ...choice, text: `must be ${[...new Set(types)].join(' or ')}` }
}

function problemOf({ path, message }: Readonly<Record<string, unknown>>): ContractProblem {
  const [, place = '', ...steps] = String(path).split('/')
  const field = steps.reduce((whole, step) => {
    if (/^\d+$/.test(step)) return `${whole}[${step}]`
    return whole === '' ? step : `${whole}.${step}`
  }, '')
  // The validator joins the values that are allowed, which makes nothing of null.
  return {
    place,
    field,
    text: lengthText(String(message))
      .replace(/, $/, ', null')
      .replace(/,(?=\S)/, ' or '),
  }
}

/** The plain sentence of it. */
export function problemSentence({ place, field, text }: ContractProblem): string {
  return field === '' ? `the ${place || 'request'} ${text}` : `${field} ${text}`
}
