// Checks requests against the contract. The only file that knows express-openapi-validator.

import type { Request, RequestHandler, Response } from 'express'
import { middleware as openApiMiddleware } from 'express-openapi-validator'
import { ServiceError } from '../../lib/errors.ts'
import { isJsonObject } from '../../openapi/contract.ts'
import type { Contract, JsonObject } from '../../openapi/contract.ts'

/**
 * Operations whose bodies hold documents or queries. Their parsers walk the bytes, check all that the
 * contract says about them, and keep every digit; a second walk here would check less and cost
 * more. test/contract/body-parsers.test.ts holds the parsers to the contract.
 */
export const BYTE_PARSED_OPERATIONS: ReadonlySet<string> = new Set([
  'batchWrite',
  'crossTableBatch',
  'commitTransaction',
  'mergeTable',
  'queryGlobal',
  'queryTable',
])

type ApiSpec = Parameters<typeof openApiMiddleware>[0]['apiSpec']

export interface Unvalidated {
  readonly request: Request
  readonly response: Response
  /** The parsed body; undefined if there is none to check here. */
  readonly json: unknown
}

/** Rejects with INVALID_ARGUMENT when the request does not fit the contract. */
export type RequestValidator = (unvalidated: Unvalidated) => Promise<void>

export function buildRequestValidator(contract: Contract): RequestValidator {
  const handlers = openApiMiddleware({
    apiSpec: withoutByteParsedBodies(contract.document),
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
    for (const handler of handlers) await run(handler, request, response)
  }
}

function run(handler: RequestHandler, request: Request, response: Response): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (error?: unknown): void => {
      if (error === undefined) resolve()
      else reject(translated(error))
    }
    try {
      void handler(request, response, next)
    } catch (error) {
      next(error)
    }
  })
}

/** A copy, because the validator rewrites what it is given. */
function withoutByteParsedBodies({ paths, ...rest }: Contract['document']): ApiSpec {
  const entries = Object.entries(paths).map(([template, item]) => {
    const members = Object.entries(item).map(([name, member]) => [name, withoutBody(member)])
    return [template, Object.fromEntries(members)]
  })
  return JSON.parse(JSON.stringify({ ...rest, paths: Object.fromEntries(entries) }))
}

function withoutBody(member: unknown): unknown {
  if (!isJsonObject(member)) return member
  const { requestBody: _, ...rest } = member
  return BYTE_PARSED_OPERATIONS.has(String(member['operationId'])) ? rest : member
}

function translated(error: unknown): unknown {
  if (!(error instanceof Error) || !('status' in error) || error.status !== 400) return error
  const problems: unknown = 'errors' in error ? error.errors : undefined
  const first: unknown = Array.isArray(problems) ? problems[0] : undefined
  const message = isJsonObject(first) ? problemText(first) : error.message
  return new ServiceError('INVALID_ARGUMENT', message, { cause: error })
}

function problemText({ path, message }: JsonObject): string {
  const [, place = '', ...steps] = String(path).split('/')
  const field = steps.reduce((whole, step) => {
    if (/^\d+$/.test(step)) return `${whole}[${step}]`
    return whole === '' ? step : `${whole}.${step}`
  }, '')
  const text = String(message)
  if (text === 'must NOT have additional properties') {
    return `unknown field "${field}"; the contract at /api/v1/docs lists the known ones`
  }
  if (place === 'query' && text.startsWith('Unknown query parameter')) {
    return `unknown query parameter "${field}"; the contract at /api/v1/docs lists the known ones`
  }
  if (text.startsWith('Empty value')) return `${field} is empty; give it a value or leave it out`
  return field === '' ? `the ${place || 'request'} ${text}` : `${field} ${text}`
}
