// A service's HTTP contract as data: read once at its start from openapi/.

import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import { assert } from '../lib/assert.ts'
import { isJsonRecord } from '../lib/json-record.ts'
import type { JsonRecord } from '../lib/json-record.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const

/** The parts of an OpenAPI document on which its readers rely. */
export interface ContractDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, JsonRecord>>
  readonly components: Readonly<Record<string, JsonRecord>>
}

/** One operation of a contract, as its requests are matched and read. */
export interface Operation {
  readonly operationId: string
  /** In capitals, as requests carry it. */
  readonly method: string
  /** Such as `/api/v1/tables/{tableName}`. */
  readonly template: string
  readonly body: 'none' | 'optional' | 'required'
  readonly parameters: readonly OperationParameter[]
  /** Where the operation stands in the document. */
  readonly pointer: string
}

/** A parameter of the path, the query or the headers. */
export interface OperationParameter {
  readonly name: string
  readonly in: string
  /** Where the parameter stands in the document. */
  readonly pointer: string
}

/** A contract, read once and never changed. */
export interface Contract {
  /** The file as it was written, comments included. */
  readonly text: Buffer
  readonly document: ContractDocument
  readonly operations: readonly Operation[]
}

export type ContractName = 'store.v1' | 'inference.v1'

const loaded = new Map<ContractName, Contract>()

/** Reads and parses once in a process: that takes a good part of a server's start. */
export function loadContract(name: ContractName): Contract {
  const known = loaded.get(name)
  if (known !== undefined) return known
  const text = readFileSync(new URL(`../openapi/${name}.yaml`, import.meta.url))
  const document = load(text.toString())
  assert(isContract(document), `openapi/${name}.yaml is a contract`)
  const contract = { text, document, operations: operationsOf(document) }
  loaded.set(name, contract)
  return contract
}

/** Our own file: test/contract checks the rest against the schema of OpenAPI. */
function isContract(parsed: unknown): parsed is ContractDocument {
  return isJsonRecord(parsed) && isJsonRecord(parsed['paths']) && isJsonRecord(parsed['components'])
}

function operationsOf(document: ContractDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([template, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      return isJsonRecord(operation) ? [operationOf(document, operation, { method, template })] : []
    }),
  )
}

function operationOf(
  document: ContractDocument,
  { operationId, requestBody, parameters }: JsonRecord,
  { method, template }: { readonly method: string; readonly template: string },
): Operation {
  assert(typeof operationId === 'string', `${method} ${template} has an operationId`)
  const pointer = `#/paths/${template.replaceAll('/', '~1')}/${method}`
  return {
    operationId,
    method: method.toUpperCase(),
    template,
    body: bodyOf(requestBody),
    parameters: (Array.isArray(parameters) ? parameters : []).map((parameter: unknown, i) =>
      parameterOf(document, parameter, `${pointer}/parameters/${i}`),
    ),
    pointer,
  }
}

const SHARED = '#/components/parameters/'

function parameterOf(
  { components }: ContractDocument,
  parameter: unknown,
  ownPointer: string,
): OperationParameter {
  const reference = isJsonRecord(parameter) ? parameter['$ref'] : undefined
  const pointer = typeof reference === 'string' ? reference : ownPointer
  const shared = components['parameters']?.[pointer.slice(SHARED.length)]
  const found = pointer === ownPointer ? parameter : shared
  assert(isJsonRecord(found), `${pointer} is a parameter`)
  return { name: String(found['name']), in: String(found['in']), pointer }
}

function bodyOf(requestBody: unknown): Operation['body'] {
  if (!isJsonRecord(requestBody)) return 'none'
  return requestBody['required'] === true ? 'required' : 'optional'
}
