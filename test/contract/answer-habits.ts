// What a status of success means, as rules over a contract.

import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'

/** What an operation does to what is there. */
type Deed = 'adds' | 'removes' | 'begins' | 'answers'

const STATUS_OF: Readonly<Record<Deed, string>> = {
  adds: '201',
  removes: '204',
  begins: '202',
  answers: '200',
}

/** `POST` to the path of a thing that `GET` shows adds that thing. A batch adds documents; its path shows nothing. */
const BATCH = /\/batch$/
/** What is asked of nodes and shards of a cluster continues after the answer, but for what these paths end with. */
const STEERING = /^\/api\/v1\/cluster\/(?!recover$|nodes\/\{nodeId\}\/collect$)/

/** A sentence for each operation that has another habit. */
export function brokenHabits(document: JsonRecord): readonly string[] {
  return recordsIn(document['paths']).flatMap(([path, operations]) =>
    recordsIn(operations).flatMap(([method, operation]) =>
      brokenHabitsOf({ document, path, method, operation, shown: recordOf(operations)['get'] }),
    ),
  )
}

interface Place {
  readonly document: JsonRecord
  readonly path: string
  readonly method: string
  readonly operation: JsonRecord
  /** What `GET` of the same path is. */
  readonly shown: unknown
}

function brokenHabitsOf(place: Place): string[] {
  const { document, operation } = place
  const id = String(operation['operationId'])
  const answers = recordsIn(operation['responses']).filter(([status]) => status.startsWith('2'))
  const [[status, answer] = ['', {}], ...more] = answers
  if (more.length > 0) return [`${id} has more than one status of success`]
  const deed = deedOf(place)
  const wanted = STATUS_OF[deed]
  if (status !== wanted) return [`${id} ${deed}, which is ${wanted} and not ${status}`]
  const hasBody = recordsIn(resolved(document, answer)['content']).length > 0
  if (wanted === '204') return hasBody ? [`${id}: 204 has no body`] : []
  if (!hasBody) return [`${id}: ${status} has a body`]
  return wanted === '201'
    ? strangeMembers(place, answer).map((name) => `${id}: GET shows no "${name}"`)
    : []
}

function deedOf({ path, method, shown }: Place): Deed {
  if (method === 'delete') return 'removes'
  if (method !== 'post') return 'answers'
  if (STEERING.test(path)) return 'begins'
  return BATCH.test(path) || (shown !== undefined && path.endsWith('}')) ? 'adds' : 'answers'
}

/** Required members of what a creation answers which `GET` of the thing does not show. */
function strangeMembers({ document, shown }: Place, answer: JsonRecord): readonly string[] {
  if (shown === undefined) return []
  const asked = recordOf(recordOf(recordOf(shown)['responses'])['200'])
  const known = new Set(requiredIn(document, asked))
  return requiredIn(document, answer).filter((name) => !known.has(name))
}

function requiredIn(document: JsonRecord, answer: JsonRecord): readonly string[] {
  const [[, media] = ['', {}]] = recordsIn(resolved(document, answer)['content'])
  return requiredOf(document, recordOf(media['schema']))
}

function requiredOf(document: JsonRecord, schema: JsonRecord): readonly string[] {
  const { required, allOf } = resolved(document, schema)
  const inherited = Array.isArray(allOf)
    ? allOf.flatMap((each: unknown) => requiredOf(document, recordOf(each)))
    : []
  return [...inherited, ...(Array.isArray(required) ? required.map(String) : [])]
}

function resolved(document: JsonRecord, value: JsonRecord): JsonRecord {
  const { $ref: reference } = value
  if (typeof reference !== 'string') return value
  const found = reference
    .slice('#/'.length)
    .split('/')
    .reduce((at: JsonRecord, name) => recordOf(at[name]), document)
  return resolved(document, found)
}

function recordsIn(value: unknown): readonly (readonly [string, JsonRecord])[] {
  return Object.entries(recordOf(value)).map(([name, each]) => [name, recordOf(each)])
}

function recordOf(value: unknown): JsonRecord {
  return isJsonRecord(value) ? value : {}
}
