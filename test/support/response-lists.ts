// The lists, and all members, of the answers that a contract promises, by their places in its schemas.

import type { ContractDocument } from '../../door/contract.ts'
import { isJsonRecord, type JsonRecord } from '../../lib/json-record.ts'

/** What answers of success have. A place begins with the last named schema above it, or with the operation. */
export interface AnswerPlaces {
  /** Lists, and objects whose members' names are data. */
  readonly lists: ReadonlySet<string>
  /** The lists whose schemas say how many they have at most, and may have fewer. */
  readonly bounded: ReadonlySet<string>
  readonly members: ReadonlySet<string>
}

export function answerPlaces(document: ContractDocument): AnswerPlaces {
  const walk = new AnswerWalk(document)
  for (const operation of Object.values(document.paths).flatMap((item) => Object.values(item))) {
    const { operationId, responses } = recordOf(operation)
    const answers = Object.entries(recordOf(responses)).filter(([status]) => status.startsWith('2'))
    for (const schema of answers.flatMap(([, response]) => walk.schemasOf(recordOf(response)))) {
      walk.visit(schema, String(operationId), [])
    }
  }
  return walk
}

class AnswerWalk implements AnswerPlaces {
  readonly lists = new Set<string>()
  readonly bounded = new Set<string>()
  readonly members = new Set<string>()
  readonly #document: ContractDocument

  constructor(document: ContractDocument) {
    this.#document = document
  }

  schemasOf(response: JsonRecord): readonly JsonRecord[] {
    const { content } = this.resolved(response)
    return Object.values(recordOf(content)).map((one) => recordOf(recordOf(one)['schema']))
  }

  resolved(schema: JsonRecord): JsonRecord {
    const { $ref: ref } = schema
    if (typeof ref !== 'string') return schema
    let found: unknown = this.#document
    for (const name of ref.slice(2).split('/')) found = recordOf(found)[name]
    return this.resolved(recordOf(found))
  }

  visit(schema: JsonRecord, above: string, within: readonly JsonRecord[]): void {
    const resolved = this.resolved(schema)
    if (within.includes(resolved)) return
    const { $ref: ref } = schema
    const place = typeof ref === 'string' ? (ref.split('/').at(-1) ?? '') : above
    const inside = [...within, resolved]
    this.#visitLists(resolved, place, inside)
    for (const [name, member] of Object.entries(recordOf(resolved['properties']))) {
      this.members.add(`${place}.${name}`)
      this.visit(recordOf(member), `${place}.${name}`, inside)
    }
    const { allOf, oneOf, anyOf } = resolved
    const forms = [allOf, oneOf, anyOf].flat().filter((form) => isJsonRecord(form))
    for (const form of forms) this.visit(form, place, inside)
  }

  #visitLists(schema: JsonRecord, place: string, inside: readonly JsonRecord[]): void {
    const { type, items, additionalProperties: others, minItems, maxItems, maxProperties } = schema
    if (maxItems !== undefined && maxItems !== minItems) this.bounded.add(place)
    if (maxProperties !== undefined) this.bounded.add(`${place}{}`)
    if ([type].flat().includes('array')) {
      this.lists.add(place)
      this.visit(recordOf(items), `${place}[]`, inside)
    }
    if (isJsonRecord(others)) {
      this.lists.add(`${place}{}`)
      this.visit(others, `${place}{*}`, inside)
    }
  }
}

function recordOf(value: unknown): JsonRecord {
  return isJsonRecord(value) ? value : {}
}
