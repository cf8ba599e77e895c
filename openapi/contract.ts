// A service's HTTP contract as data: read once at its start from the file beside this one.

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { assert } from '../lib/assert.ts'
import { isJsonRecord } from '../lib/json-record.ts'
import type { JsonRecord } from '../lib/json-record.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const

/** As much of an OpenAPI document as its readers rely on. */
export interface ContractDocument {
  readonly openapi: '3.1.0'
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, JsonRecord>>
  readonly components: Readonly<Record<string, JsonRecord>>
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

export type ContractName = 'store.v1' | 'inference.v1'

const loaded = new Map<ContractName, Contract>()

/** Reads and parses once in a process: that takes a good part of a server's start. */
export function loadContract(name: ContractName): Contract {
  const known = loaded.get(name)
  if (known !== undefined) return known
  const text = readFileSync(new URL(`${name}.yaml`, import.meta.url))
  // Our own file, whose shape test/contract checks against the OpenAPI schema.
  const document: ContractDocument = parse(text.toString())
  const contract = { text, document, operations: operationsOf(document) }
  loaded.set(name, contract)
  return contract
}

function operationsOf({ paths }: ContractDocument): Operation[] {
  return Object.entries(paths).flatMap(([template, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method]
      return isJsonRecord(operation) ? [operationOf(operation, method, template)] : []
    }),
  )
}

function operationOf(operation: JsonRecord, method: string, template: string): Operation {
  const { operationId, requestBody } = operation
  assert(typeof operationId === 'string', `${method} ${template} has an operationId`)
  return { operationId, method: method.toUpperCase(), template, body: bodyOf(requestBody) }
}

function bodyOf(requestBody: unknown): Operation['body'] {
  if (!isJsonRecord(requestBody)) return 'none'
  return requestBody['required'] === true ? 'required' : 'optional'
}
