// Checks requests against the contract. The only file that knows express-openapi-validator.

import type { Request, RequestHandler, Response } from 'express'
import { middleware as openApiMiddleware } from 'express-openapi-validator'
import { ServiceError } from '../../lib/errors.ts'
import { isJsonObject } from '../../openapi/contract.ts'
import type { Contract, JsonObject } from '../../openapi/contract.ts'

type ApiSpec = Parameters<typeof openApiMiddleware>[0]['apiSpec']

export interface Unvalidated {
  readonly request: Request
  readonly response: Response
  /** The parsed body; undefined if there is none. */
  readonly json: unknown
}

/** Rejects with INVALID_ARGUMENT when the request does not fit the contract. */
export type RequestValidator = (unvalidated: Unvalidated) => Promise<void>

export function buildRequestValidator({ document }: Contract): RequestValidator {
  // A copy, because the validator rewrites what it is given.
  const apiSpec: ApiSpec = JSON.parse(JSON.stringify(document))
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

function translated(error: unknown): unknown {
  if (!(error instanceof Error) || !('status' in error) || error.status !== 400) return error
  const problems: unknown = 'errors' in error ? error.errors : undefined
  const first: unknown = Array.isArray(problems) ? problems[0] : undefined
  const message = isJsonObject(first) ? problemText(first) : error.message
  return new ServiceError('INVALID_ARGUMENT', message, { cause: error })
}

export const INVALID_INPUT =
  'invalid input: input must be a string, an array of strings, or an array of content parts'

function problemText({ path, message }: JsonObject): string {
  const [, place = '', ...steps] = String(path).split('/')
  const field = steps.reduce((whole, step) => {
    if (/^\d+$/.test(step)) return `${whole}[${step}]`
    return whole === '' ? step : `${whole}.${step}`
  }, '')
  const text = String(message)
  if (text.startsWith('must have required property')) return `${field} is required`
  // Three shapes are possible; what is wrong with the first of them would say nothing.
  if (steps[0] === 'input') return INVALID_INPUT
  if (text === 'must NOT have additional properties') {
    return `unknown field "${field}"; the contract at /api/openapi.yaml lists the known ones`
  }
  if (place === 'query' && text.startsWith('Unknown query parameter')) return `${text}; remove it`
  return field === '' ? `the ${place || 'request'} ${text}` : `${field} ${text}`
}
