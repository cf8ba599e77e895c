// Checks requests against a contract: all of them by express-openapi-validator, which also words the
// refusals, and those of hot operations by validators that ajv compiles from the same schemas.

import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { Router, type Request, type Response } from 'express'
import { middleware as openApiMiddleware } from 'express-openapi-validator'
import { ServiceError } from '../lib/errors.ts'
import { isJsonRecord, type JsonRecord } from '../lib/json-record.ts'
import type { Contract, ContractDocument, Operation } from './contract.ts'
import { sentenceOf, withPatternsForLengths, type Explain } from './problems.ts'

type ApiSpec = Parameters<typeof openApiMiddleware>[0]['apiSpec']

/** A request whose path is known, as express has it. */
export interface Unchecked {
  readonly request: Request
  readonly response: Response
  /** The parsed body; undefined if there is none to check here. */
  readonly json: unknown
}

/** Rejects with INVALID_ARGUMENT when the request does not fit the contract. */
export type Check = (unchecked: Unchecked) => Promise<void>

/** What one API leaves out of the check, and how it words refusals. */
export interface CheckOptions {
  /** Operations whose handlers check the bytes of the body themselves. */
  readonly byteParsed: ReadonlySet<string>
  /** Schemas that a parser of the API checks better, with the schema for here. */
  readonly looseSchemas?: Readonly<Record<string, object>>
  readonly explain?: Explain
  readonly docs: string
}

export function buildCheck({ document }: Contract, options: CheckOptions): Check {
  // A copy, because the validator rewrites what it is given.
  const apiSpec: ApiSpec = JSON.parse(JSON.stringify(reduced(document, options)))
  const router = Router()
  router.use(
    openApiMiddleware({
      apiSpec: withPatternsForLengths(apiSpec),
      validateApiSpec: false, // test/contract does that once, instead of every start
      validateRequests: { allowUnknownQueryParameters: false, coerceTypes: false },
      validateResponses: false,
      validateSecurity: false,
      fileUploader: false,
    }),
  )
  const { explain, docs } = options
  return ({ request, response, json }) => {
    request.body = json
    // Whatever JSON type was accepted counts as this one: the validator keeps a compiled schema for
    // each type that it meets, and clients could invent more and more of them.
    if (json === undefined) delete request.headers['content-type']
    else request.headers['content-type'] = 'application/json'
    return new Promise((resolve, reject) => {
      router(request, response, (error?: unknown) => {
        if (error === undefined) return resolve()
        const { query } = request
        reject(refusalOf(error, (errors) => sentenceOf(errors, { explain, docs, query })))
      })
    })
  }
}

function refusalOf(
  error: unknown,
  say: (errors: readonly unknown[]) => string | undefined,
): unknown {
  if (!(error instanceof Error) || !('status' in error) || error.status !== 400) return error
  const errors = 'errors' in error && Array.isArray(error.errors) ? error.errors : []
  return new ServiceError('INVALID_ARGUMENT', say(errors) ?? error.message, { cause: error })
}

/**
 * The contract without the parts that other code checks, and without what only answers have: the validator
 * works on all that it is given at each start.
 */
function reduced(
  { paths, components, ...rest }: ContractDocument,
  { byteParsed, looseSchemas = {} }: CheckOptions,
): ContractDocument {
  const entries = Object.entries(paths).map(([template, item]) => {
    const members = Object.entries(item).map(([name, member]) => [
      name,
      isJsonRecord(member) && 'operationId' in member ? asked(member, byteParsed) : member,
    ])
    return [template, Object.fromEntries(members)]
  })
  const asking = { paths: Object.fromEntries(entries), parameters: components['parameters'] ?? {} }
  const schemas = usedSchemas(asking, { ...components['schemas'], ...looseSchemas })
  return {
    ...rest,
    paths: asking.paths,
    components: { parameters: asking.parameters, schemas },
  }
}

function asked(operation: JsonRecord, byteParsed: ReadonlySet<string>): JsonRecord {
  const { requestBody, ...others } = operation
  const isParsed = byteParsed.has(String(operation['operationId']))
  return { ...others, responses: {}, ...(isParsed ? {} : { requestBody }) }
}

const SCHEMA_REFERENCE = /"#\/components\/schemas\/(?<name>\w+)"/g

/** The schemas that `asking` names, and those that they name. */
function usedSchemas(asking: unknown, schemas: JsonRecord): JsonRecord {
  const used: Record<string, unknown> = {}
  const rest = [asking]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    for (const { groups } of JSON.stringify(next).matchAll(SCHEMA_REFERENCE)) {
      const name = groups?.['name'] ?? ''
      if (name in used) continue
      used[name] = schemas[name]
      rest.push(schemas[name])
    }
  }
  return used
}

/** Whether a value fits its schema in the contract. `Check` words the refusal of a value that does not. */
export type Fits = (value: unknown) => boolean

/** Compiles a schema of a contract when an operation first needs it. */
export class SchemaChecks {
  readonly #ajv: Ajv2020

  constructor({ document }: Contract) {
    this.#ajv = new Ajv2020({ strict: false, validateSchema: false })
    addFormats.default(this.#ajv)
    this.#ajv.addSchema(withPatternsForLengths(structuredClone(document)), 'contract')
  }

  /** The checks of the path's parameters, by name. */
  params({ parameters }: Operation): Readonly<Record<string, Fits>> {
    const ofPath = parameters.filter((each) => each.in === 'path')
    return Object.fromEntries(
      ofPath.map(({ name, pointer }) => [name, this.#at(`${pointer}/schema`)]),
    )
  }

  /** The check of the JSON body. */
  body({ pointer }: Operation): Fits {
    return this.#at(`${pointer}/requestBody/content/application~1json/schema`)
  }

  #at(pointer: string): Fits {
    const validate = this.#ajv.compile({ $ref: `contract${encodeURI(pointer)}` })
    return (value) => validate(value)
  }
}
