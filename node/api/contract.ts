// The contract as data: read once at the start from openapi/store.v1.yaml.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { assert } from '../../lib/assert.ts'

const CONTRACT_URL = new URL('../../openapi/store.v1.yaml', import.meta.url)
const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const

export type JsonObject = Readonly<Record<string, unknown>>

/** As much of an OpenAPI document as its readers rely on. */
export interface ContractDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, JsonObject>>
}

export interface Operation {
  readonly operationId: string
  /** In capitals, as requests carry it. */
  readonly method: string
  /** Such as `/api/v1/tables/{tableName}`. */
  readonly template: string
  readonly body: 'none' | 'optional' | 'required'
}

export interface Contract {
  /** The file as it was written, comments included. */
  readonly text: Buffer
  readonly document: ContractDocument
  readonly operations: readonly Operation[]
}

export function loadContract(): Contract {
  const text = readFileSync(fileURLToPath(CONTRACT_URL))
  // Our own file, whose shape test/contract checks against the OpenAPI schema.
  const document: ContractDocument = parse(text.toString())
  return { text, document, operations: operationsOf(document) }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function operationsOf({ paths }: ContractDocument): Operation[] {
  return Object.entries(paths).flatMap(([template, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      return isJsonObject(operation) ? [operationOf(operation, method, template)] : []
    }),
  )
}

function operationOf(operation: JsonObject, method: string, template: string): Operation {
  const { operationId, requestBody } = operation
  assert(typeof operationId === 'string', `${method} ${template} has an operationId`)
  return { operationId, method: method.toUpperCase(), template, body: bodyOf(requestBody) }
}

function bodyOf(requestBody: unknown): Operation['body'] {
  if (!isJsonObject(requestBody)) return 'none'
  return requestBody['required'] === true ? 'required' : 'optional'
}
