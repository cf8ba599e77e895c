// The requests that the docs page would send: each operation of a contract with what Swagger UI fills
// in by itself when somebody presses "Try it out" and "Execute".

import { assert, must } from '../../lib/assert.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import type { Contract, Operation } from '../../door/contract.ts'

/** Operations for which the inference server has no model of its own. */
export const NEED_A_MODEL: ReadonlySet<string> = new Set([
  'rerank',
  'generate',
  'recognize',
  'rewrite',
  'chat',
  'createChatCompletion',
])

/** Operations that steer a cluster: a store in swarm mode refuses them. */
export const NEED_A_CLUSTER: ReadonlySet<string> = new Set([
  'drainNode',
  'undrainNode',
  'decommissionNode',
  'handOverLeaders',
  'forgetNode',
  'recoverCluster',
  'collectLeftovers',
  'moveReplica',
  'transferLeader',
])

export interface Trial {
  readonly operationId: string
  /** The name of the body's example; undefined if the operation has no example with a name. */
  readonly example: string | undefined
  readonly method: string
  /** Filled in and encoded, with the query string. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** In the order of the page, by tags; of each operation first the example that the page shows first. */
export function trialsOf(contract: Contract): readonly Trial[] {
  const page = new DocsPage(contract)
  return page.operations().flatMap((operation) => page.trials(operation))
}

class DocsPage {
  readonly #contract: Contract

  constructor(contract: Contract) {
    this.#contract = contract
  }

  operations(): readonly Operation[] {
    const { document, operations } = this.#contract
    const tags = listOf(record(document), 'tags').map((tag) => tag['name'])
    const placeOf = (operation: Operation): number => {
      const [tag] = [this.#members(operation)['tags']].flat()
      return tags.indexOf(tag)
    }
    return operations.toSorted((a, b) => placeOf(a) - placeOf(b))
  }

  trials(operation: Operation): readonly Trial[] {
    const { operationId, method, template } = operation
    const members = this.#members(operation)
    const headers: Record<string, string> = { accept: this.#acceptOf(members) }
    const query: string[] = []
    let path = template
    for (const parameter of listOf(members, 'parameters').map((each) => this.#resolved(each))) {
      const { name, in: place, required, allowReserved } = parameter
      const value = filledIn(parameter)
      const where = `${operationId}: ${String(name)}`
      assert(value !== undefined || required !== true, `${where} is filled in`)
      if (value === undefined) continue
      if (place === 'path') path = path.replace(`{${String(name)}}`, encodeURIComponent(value))
      else if (place === 'header') headers[String(name).toLowerCase()] = value
      else query.push(`${String(name)}=${encoded(value, allowReserved === true)}`)
    }
    const target = query.length === 0 ? path : `${path}?${query.join('&')}`
    return this.#bodiesOf(members).map(({ type, example, value }) => ({
      operationId,
      example,
      method,
      path: target,
      headers: type === undefined ? headers : { ...headers, 'content-type': type },
      body: value === undefined ? undefined : JSON.stringify(value),
    }))
  }

  #bodiesOf({ requestBody }: JsonRecord): readonly Body[] {
    if (requestBody === undefined) return [{}]
    const content = record(record(requestBody)['content'])
    const [[type, media] = ['', {}]] = Object.entries(content)
    const { example, examples = {} } = record(media)
    if (example !== undefined) return [{ type, value: example }]
    const named = Object.entries(record(examples))
    assert(named.length > 0, `a body of type ${type} has an example`)
    return named.map(([name, each]) => ({ type, example: name, value: record(each)['value'] }))
  }

  /** The first type of the first answer that has any: what the page's menu begins with. */
  #acceptOf({ responses }: JsonRecord): string {
    const answers = Object.values(record(responses)).map((each) => this.#resolved(record(each)))
    const types = answers.flatMap(({ content }) => Object.keys(record(content ?? {})))
    return must(types[0], 'some answer has a type')
  }

  #members({ template, method }: Operation): JsonRecord {
    return record(this.#contract.document.paths[template]?.[method.toLowerCase()])
  }

  #resolved(value: JsonRecord): JsonRecord {
    const { $ref } = value
    if (typeof $ref !== 'string') return value
    const steps = $ref.slice(2).split('/')
    return steps.reduce((at, step) => record(at[step]), record(this.#contract.document))
  }
}

interface Body {
  readonly type?: string
  readonly example?: string
  readonly value?: unknown
}

/** Swagger UI takes an example or a default, and nothing that it makes up. */
function filledIn({ example, schema }: JsonRecord): string | undefined {
  const { default: fallback, example: ofSchema } = record(schema)
  const value = example ?? ofSchema ?? fallback
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(value)
}

function encoded(value: string, allowReserved: boolean): string {
  return allowReserved ? encodeURI(value) : encodeURIComponent(value)
}

function listOf(value: JsonRecord, name: string): readonly JsonRecord[] {
  const list = value[name] ?? []
  assert(Array.isArray(list), `${name} is a list`)
  return list.map(record)
}

function record(value: unknown): JsonRecord {
  assert(isJsonRecord(value), 'this part of the contract is an object')
  return value
}
