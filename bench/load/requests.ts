// Builds the bytes of a plan's requests.

import { must, unreachable } from '../../lib/assert.ts'
import { seededRandom } from '../../lib/random.ts'
import { buildDocumentSource, documentKey, scatter } from '../data/document-source.ts'
import { buildArticleSource } from '../data/article-source.ts'
import { buildRequestBody } from '../data/request-body.ts'
import { drawQueries, TOP_HITS_CLASSES } from '../data/query-classes.ts'
import { putRequest } from './etcd-requests.ts'
import { upsertRequest } from './postgres-requests.ts'
import type {
  Bodies,
  InsertBatches,
  InsertEach,
  InsertTarget,
  KeyOrder,
  Lookups,
  RequestPlan,
  Searches,
} from './load-job.ts'

/** Returns the next request; undefined after the last one. */
export type NextRequest = () => Buffer | undefined

export function buildRequests(plan: RequestPlan): NextRequest {
  switch (plan.kind) {
    case 'insert-batches':
      return plan.prepared ? prepare(insertBatches(plan)) : insertBatches(plan)
    case 'insert-each':
      return insertEach(plan)
    case 'lookups':
      return lookups(plan)
    case 'searches':
      return searches(plan)
    case 'bodies':
      return given(plan)
    default:
      return unreachable(plan)
  }
}

function insertBatches(plan: InsertBatches): NextRequest {
  const { path, firstDocument, documents, documentsPerBatch, keyOrder } = plan
  const source = buildDocumentSource(plan.shape, plan.seed)
  const keyAt = keyNaming(keyOrder, documents)
  let sent = 0
  return () => {
    if (sent >= documents) return undefined
    const end = Math.min(documents, sent + documentsPerBatch)
    const members: string[] = []
    for (; sent < end; sent += 1) {
      const { key, document } = keyAt(sent, firstDocument)
      members.push(`"${key}":${source.documentAt(document)}`)
    }
    return postRequest(path, `{"inserts":{${members.join(',')}}}`)
  }
}

interface NamedDocument {
  readonly key: string
  readonly document: number
}

type KeyNaming = (sent: number, first: number) => NamedDocument

const SHARD_PREFIXES = 'abcd'

function keyNaming(order: KeyOrder, documents: number): KeyNaming {
  switch (order) {
    case 'ascending':
      return (sent, first) => named(first + sent)
    case 'scattered':
      return (sent, first) => named(first + scatter(sent, documents))
    case 'by-shard':
      return (sent, first) => {
        const { key, document } = named(first + sent)
        return { key: `${SHARD_PREFIXES.charAt(sent % SHARD_PREFIXES.length)}-${key}`, document }
      }
    default:
      return unreachable(order)
  }
}

function named(document: number): NamedDocument {
  return { key: documentKey(document), document }
}

function prepare(next: NextRequest): NextRequest {
  const requests: Buffer[] = []
  for (let request = next(); request !== undefined; request = next()) requests.push(request)
  let sent = 0
  return () => requests[sent++]
}

function insertEach({ target, seed, firstDocument }: InsertEach): NextRequest {
  const source = buildDocumentSource('kilobyte', seed)
  let index = firstDocument
  return () => {
    const request = insertOf(target, documentKey(index), source.documentAt(index))
    index += 1
    return request
  }
}

function insertOf(target: InsertTarget, key: string, document: string): Buffer {
  switch (target.kind) {
    case 'batch':
      return postRequest(target.path, `{"inserts":{"${key}":${document}}}`)
    case 'bare':
      return postRequest(`/${key}`, `{"inserts":{"${key}":${document}}}`)
    case 'postgres':
      return upsertRequest(key, document)
    case 'etcd':
      return putRequest(key, document)
    default:
      return unreachable(target)
  }
}

function lookups({ path, seed, documents }: Lookups): NextRequest {
  const random = seededRandom(seed)
  return () => {
    const key = documentKey(Math.floor(random() * documents))
    return Buffer.from(`GET ${path}${key} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`, 'latin1')
  }
}

/** The number of different queries of each class, which then repeat. */
const QUERIES_PER_CLASS = 100

/** Built before the first is sent, class after class in turn. */
function searches({ path, articlesSeed, documents, seed, ...plan }: Searches): NextRequest {
  const articles = buildArticleSource(articlesSeed)
  const byClass = TOP_HITS_CLASSES.map((queryClass) =>
    drawQueries(articles, queryClass, { seed, documents, count: QUERIES_PER_CLASS }),
  )
  const requests = Array.from({ length: QUERIES_PER_CLASS * byClass.length }, (_, i) => {
    const queries = must(byClass[i % byClass.length], 'class')
    const query = must(queries[Math.floor(i / byClass.length)], 'query')
    return postRequest(path, buildRequestBody(query, ['title']))
  })
  const { requestsMax = Infinity } = plan
  let sent = 0
  return () => (sent < requestsMax ? requests[sent++ % requests.length] : undefined)
}

function given({ path, bodies, repeats }: Bodies): NextRequest {
  const requests = bodies.map((body) => postRequest(path, body))
  let sent = 0
  return () => (repeats ? requests[sent++ % requests.length] : requests[sent++])
}

function postRequest(path: string, body: string): Buffer {
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
    'latin1', // the documents are ASCII
  )
}
