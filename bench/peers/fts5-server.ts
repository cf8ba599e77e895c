// SQLite FTS5 behind an HTTP door of its own, with the requests of our API: batches of articles, and queries for
// the best hits. It prints its address when it listens.
//
//   node bench/peers/fts5-server.ts <directory> <purpose>

import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'
import { buffer } from 'node:stream/consumers'
import { assert, must } from '../../lib/assert.ts'
import { buildArticleSource } from '../data/article-source.ts'
import type { TextQuery } from '../data/query-classes.ts'
import { Fts5Engine } from './fts5-engine.ts'
import type { StoredArticle } from './fts5-engine.ts'

/** The members of a batch and of a query that the bench sends. */
interface Request {
  readonly inserts: Readonly<Record<string, StoredArticle & { readonly created: string }>>
  readonly full_text_search: {
    readonly match?: string
    readonly match_phrase?: string
    readonly operator?: 'and' | 'or'
  }
}

const [, , directory, purpose] = process.argv
const folder = must(directory, 'directory')
mkdirSync(folder, { recursive: true })
let tables = 0
let articleCount = 0
let engine = openTable()

const server = createServer(
  { noDelay: true },
  (request, response) => void answer(request, response),
)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const address = server.address()
assert(address !== null && typeof address === 'object', 'the server listens on TCP')
process.stdout.write(`${JSON.stringify({ origin: `http://127.0.0.1:${address.port}` })}\n`)
await once(process, 'SIGTERM')
server.closeAllConnections()
server.close()
engine[Symbol.dispose]()

function openTable(): Fts5Engine {
  tables += 1
  articleCount = 0
  const file = path.join(folder, `articles-${tables}.db`)
  return new Fts5Engine(buildArticleSource(1), file, purpose === 'inserts' ? purpose : 'searches')
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request)
  const text = JSON.stringify(operate(path.basename(must(request.url, 'path')), body) ?? {})
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(text.length)]
  response.writeHead(200, headers).end(text)
}

/** The last part of the path names the operation. Everything else is the trivial request. */
function operate(operation: string, body: Buffer): unknown {
  switch (operation) {
    case 'batch':
      return insert(JSON.parse(body.toString('latin1')))
    case 'query':
      return engine.prepare(queryOf(JSON.parse(body.toString('latin1'))))()
    case 'clear':
      engine[Symbol.dispose]()
      engine = openTable()
      return undefined
    case 'settle':
      return engine.optimize()
    default:
      return undefined
  }
}

function insert({ inserts }: Request): void {
  const articles = Object.values(inserts)
  for (const article of articles) Object.assign(article, { createdMs: Date.parse(article.created) })
  engine.insert(articleCount, articles)
  articleCount += articles.length
}

function queryOf({ full_text_search: asked }: Request): TextQuery {
  const { match, match_phrase: phrase, operator = 'or' } = asked
  const words = must(phrase ?? match, 'words').split(' ')
  const kind = phrase === undefined ? operator : 'phrase'
  return { words: { kind, words }, filter: undefined, outcome: 'by-score' }
}
