// The body of a watch: a JSON text on each line.

import { isJsonRecord, isText } from '../../../lib/json-record.ts'
import { apiErrorOf, unansweredError } from '../api/api-error.ts'
import { storedObjectOf } from '../api/api-object.ts'
import type { ResourceKind } from '../api/api-object.ts'
import type { WatchEvent } from '../api/kubernetes-api.ts'

/** An object has 1.5 MiB at most in etcd; its JSON may be some times as long. */
const LINE_BYTES_MAX = 16 * 2 ** 20
const CHANGES = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' } as const

/** Gives each event of the body, in order. Another line ends the watch as a request without an answer. */
export async function* watchEvents(
  body: AsyncIterable<Uint8Array>,
  kind: ResourceKind,
): AsyncGenerator<WatchEvent> {
  for await (const line of linesOf(body)) yield eventOf(line, kind)
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter((line) => line !== '')
    if (rest.length > LINE_BYTES_MAX) throw unansweredError(new Error('an event is too long'))
  }
}

function eventOf(line: string, kind: ResourceKind): WatchEvent {
  const value = parsed(line)
  const [type, object] = isJsonRecord(value) ? [value['type'], value['object']] : []
  if (type === 'ERROR') throw errorOf(object)
  if (type === 'BOOKMARK') {
    const metadata = isJsonRecord(object) ? object['metadata'] : undefined
    const version = isJsonRecord(metadata) ? metadata['resourceVersion'] : undefined
    if (isText(version)) return { type: 'bookmark', resourceVersion: version }
  }
  const stored = storedObjectOf(object, kind)
  if (stored !== undefined && isChange(type)) return { type: CHANGES[type], object: stored }
  throw unansweredError(new Error('a line of a watch is not an event'))
}

function isChange(type: unknown): type is keyof typeof CHANGES {
  return isText(type) && Object.hasOwn(CHANGES, type)
}

function errorOf(status: unknown): Error {
  const code = isJsonRecord(status) ? status['code'] : undefined
  return apiErrorOf(typeof code === 'number' ? code : 500, status)
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
