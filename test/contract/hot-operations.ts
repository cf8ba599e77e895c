// Requests for the hot operations of a contract, made from the contract: its examples, and what
// becomes of them when one thing is wrong.

import type { Contract, Operation } from '../../door/contract.ts'
import type { OperationTable } from '../../door/operation.ts'
import { isJsonRecord, type JsonRecord } from '../../lib/json-record.ts'
import type { Sent } from './api-harness.ts'

const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  tableName: ['books', 'none', '.b', 'a%20b', '%', '%C3%A4', '', 'x'.repeat(300)],
  key: ['book%2F1', 'nobody', '%ff', '%2e%2e', 'a+b', 'ä', '', 'a;b=c', 'k'.repeat(1025)],
}
const QUERIES = ['?', '?unknown=1', '?fields=title', '?fields=']
const WRONG_VALUES: readonly unknown[] = [null, -1, 1.5, 'x', '', [], [1], {}, true]

/** By a name that says what is sent. */
export function hotRequests<Context>(
  { document, operations }: Contract,
  table: OperationTable<Context>,
): Readonly<Record<string, Sent>> {
  const hot = operations.filter(
    ({ operationId }) => (table[operationId]?.way ?? 'express') !== 'express',
  )
  const requests = hot.flatMap((operation) => {
    const bodies = operation.body === 'none' ? [undefined] : bodiesOf(document, operation)
    const [first] = bodies
    return [
      ...bodies.map((body) => sentTo(operation, pathOf(operation), body)),
      ...pathsOf(operation).map((path) => sentTo(operation, path, first)),
    ]
  })
  return Object.fromEntries(requests.map((sent) => [nameOf(sent), sent]))
}

function sentTo({ method }: Operation, path: string, body: string | undefined): Sent {
  return { method, path, ...(body === undefined ? {} : { body }) }
}

function nameOf({ method, path, body = '' }: Sent): string {
  return `${method} ${path.slice(0, 80)} ${String(body).slice(0, 200)}`
}

function pathOf({ template }: Operation, values: Readonly<Record<string, string>> = {}): string {
  return template.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => values[name] ?? PARAMETERS[name]?.[0] ?? name,
  )
}

/** Every path in which one thing is another, escapes and queries included. */
function pathsOf(operation: Operation): string[] {
  const names = operation.parameters.flatMap((each) => (each.in === 'path' ? each.name : []))
  const others = names.flatMap((name) =>
    (PARAMETERS[name] ?? []).map((value) => pathOf(operation, { [name]: value })),
  )
  const path = pathOf(operation)
  return [...others, ...QUERIES.map((query) => path + query), `${path}/`, `/${path}`]
}

/** The examples, and for each: one member wrong, missing or unknown; no JSON; nothing. */
function bodiesOf(document: Contract['document'], { template, method }: Operation): string[] {
  const examples = examplesIn(document.paths[template]?.[method.toLowerCase()])
  const changed = examples
    .filter(isJsonRecord)
    .flatMap((example) => [
      { ...example, surely_unknown: 1 },
      ...Object.keys(example).flatMap((name) => [
        Object.fromEntries(Object.entries(example).filter(([each]) => each !== name)),
        ...WRONG_VALUES.map((value) => ({ ...example, [name]: value })),
      ]),
    ])
  const texts = [...examples, ...changed, ...WRONG_VALUES].map((body) => JSON.stringify(body))
  return [...texts, '{', '{} x', ' ']
}

function examplesIn(operation: unknown): unknown[] {
  const media = ['requestBody', 'content', 'application/json'].reduce<unknown>(
    (at, name) => (isJsonRecord(at) ? at[name] : undefined),
    operation,
  )
  if (!isJsonRecord(media)) return []
  const many: JsonRecord = isJsonRecord(media['examples']) ? media['examples'] : {}
  const values = Object.values(many).flatMap((each) => (isJsonRecord(each) ? [each['value']] : []))
  return media['example'] === undefined ? values : [media['example'], ...values]
}
