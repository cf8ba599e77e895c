// Every operation done right: the answer has the documented status and fits the documented schema, wherever the store
// runs.

import type { OutgoingHttpHeaders } from 'node:http'
import { gzipSync } from 'node:zlib'
import Ajv2020 from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import { isJsonRecord } from '../../lib/json-record.ts'
import { loadContract } from '../../door/contract.ts'
import { send, type Received } from '../contract/api-harness.ts'
import { until } from '../support/until.ts'
import type { ApiPlace, ApiUnderTest } from './bad-input.ts'

const BOOKS = '/api/v1/tables/books'

/** Sends, and checks the answer against what the contract says about this operation and status. */
export type Operate = (
  operationId: string,
  path: string,
  body?: string | Buffer,
  headers?: OutgoingHttpHeaders,
) => Promise<Received>

/** `describeSteering` tries the operations of a cluster, which a store in swarm mode refuses. */
export function describeOperations(
  place: ApiPlace,
  describeSteering: (operate: Operate) => void,
): void {
  describe(`the operations of the store API, of ${place.name}`, () => {
    const contract = loadContract('store.v1')
    const ajv = addFormats.default(new Ajv2020.default({ strict: false }))
    ajv.addSchema(contract.document, 'contract')
    const answered = new Set<string>()
    let server: ApiUnderTest

    beforeEach(async () => {
      server = await place.open()
      await send(server.api, { method: 'POST', path: BOOKS, body: '{"split_keys":["m"]}' })
      await write(
        '{"inserts":{"a":{"n":1,"who":{"name":"Ann"}},"z":{"n":12345678901234567890}},"sync_level":"full_text"}',
      )
    })

    afterEach(() => server[Symbol.asyncDispose]())

    const operate: Operate = async (operationId, path, body, headers = {}) => {
      const operation = contract.operations.find((known) => known.operationId === operationId)!
      const { method, template } = operation
      const received = await send(server.api, {
        method,
        path,
        headers,
        ...(body === undefined ? {} : { body }),
      })
      answered.add(operationId)
      const [type] = (received.headers['content-type'] ?? '').split(';')
      if (type === 'application/json') {
        const responses = memberOf(
          contract.document.paths[template],
          method.toLowerCase(),
          'responses',
        )
        const response = memberOf(responses, String(received.status))
        const reference = memberOf(response, '$ref')
        const pointed =
          typeof reference === 'string'
            ? reference.slice(1)
            : `/paths/${pointer(template)}/${method.toLowerCase()}/responses/${received.status}`
        const schema = encodeURI(`${pointed}/content/application~1json/schema`)
        const validate = ajv.compile({ $ref: `contract#${schema}` })
        const fits = validate(JSON.parse(received.body))
        expect(fits, `${received.body} ${JSON.stringify(validate.errors)}`).to.equal(true)
      }
      return received
    }

    function write(body: string, headers = {}): Promise<Received> {
      return operate('batchWrite', `${BOOKS}/batch`, body, headers)
    }

    async function versionOf(key: string): Promise<string> {
      const { headers } = await operate('lookupDocument', `${BOOKS}/lookup/${key}`)
      return String(headers['x-service-version'])
    }

    it('report the status', async () => {
      const path = '/api/v1/status'
      // A node of a busy cluster may be too late to tell about its shards.
      await until(async () => {
        const { body } = await operate('getStatus', path)
        return JSON.parse(body).health === 'healthy'
      })
      const { status, body } = await operate('getStatus', path)

      expect(status).to.equal(200)
      expect(JSON.parse(body).tables).to.equal(1)
    })

    it('create, list, describe and drop tables', async () => {
      const created = await operate('createTable', '/api/v1/tables/boats')
      const listed = await operate('listTables', '/api/v1/tables?prefix=bo&pattern=^b.*[st]$')
      const described = await operate('getTable', BOOKS)
      const dropped = await operate('dropTable', '/api/v1/tables/boats')

      expect(created.status).to.equal(201)
      expect(JSON.parse(listed.body)).to.have.length(2)
      expect(Object.keys(JSON.parse(described.body).shards)).to.have.length(2)
      expect([dropped.status, dropped.body]).to.deep.equal([204, ''])
      expect((await operate('getTable', '/api/v1/tables/boats')).status).to.equal(404)
    })

    it('create, list, describe and drop indexes', async () => {
      const notes = `${BOOKS}/indexes/notes`

      const created = await operate('createIndex', notes, '{"type":"full_text","mem_only":true}')
      const again = await operate('createIndex', notes, '{"type":"full_text"}')
      const listed = await operate('listIndexes', `${BOOKS}/indexes`)
      const described = await operate('getIndex', notes)
      const dropped = await operate('dropIndex', notes)

      expect([created.status, again.status, dropped.status]).to.deep.equal([201, 409, 204])
      expect(JSON.parse(created.body)).to.deep.equal({ config: JSON.parse(described.body).config })
      expect(JSON.parse(listed.body)).to.have.length(2)
      expect(JSON.parse(described.body).config).to.include({ name: 'notes', mem_only: true })
      expect((await operate('getIndex', notes)).status).to.equal(404)
    })

    it('narrow the list by a pattern that is not encoded', async () => {
      const { body } = await operate('listTables', '/api/v1/tables?pattern=^b(x|o)*k*s$')

      expect(JSON.parse(body)).to.have.length(1)
    })

    it('replace a schema and hold writes to it', async () => {
      const schema = '{"enforce_types":true,"document_schemas":{"b":{"schema":{"required":["n"]}}}}'
      const { status } = await operate('updateTableSchema', `${BOOKS}/schema`, schema)

      const refused = await write('{"inserts":{"c":{"_type":"b"}}}')

      expect([status, refused.status]).to.deep.equal([200, 400])
    })

    it('apply deletes, inserts and transforms in this order', async () => {
      const transform = '{"key":"a","operations":[{"op":"$inc","path":"n","value":2}]}'
      const { status, body } = await write(
        `{"transforms":[${transform}],"inserts":{"a":{"n":5}},"deletes":["a","b"]}`,
      )

      expect([status, body]).to.deep.equal([201, '{"inserted":1,"deleted":2,"transformed":1}'])
      expect((await operate('lookupDocument', `${BOOKS}/lookup/a`)).body).to.equal('{"n":7}')
    })

    it('apply a request with an idempotency key once', async () => {
      const headers = { 'idempotency-key': 'k1' }
      const inc = '{"transforms":[{"key":"a","operations":[{"op":"$inc","path":"n","value":1}]}]}'

      const first = await write(inc, headers)
      const second = await write(inc, headers)
      const other = await write('{"deletes":["a"]}', headers)

      expect([first.status, second.status, other.status]).to.deep.equal([201, 201, 422])
      const { body } = await operate('lookupDocument', `${BOOKS}/lookup/a?fields=n`)
      expect(body).to.equal('{"n":2}')
    })

    it('write to several tables', async () => {
      await operate('createTable', '/api/v1/tables/boats', '{}')

      const { status, body } = await operate(
        'crossTableBatch',
        '/api/v1/batch',
        '{"tables":{"books":{"deletes":["a"]},"boats":{"inserts":{"x":{}}}},"sync_level":"write"}',
      )

      expect(status).to.equal(201)
      expect(JSON.parse(body).tables.boats).to.deep.equal({
        inserted: 1,
        deleted: 0,
        transformed: 0,
      })
    })

    it('commit if nothing read has changed, and abort otherwise', async () => {
      const version = await versionOf('a')
      const commit = JSON.stringify({
        read_set: [
          { table: 'books', key: 'a', version },
          { table: 'books', key: 'new', version: '0' },
        ],
        tables: { books: { inserts: { new: { n: 1 } } } },
      })

      const committed = await operate('commitTransaction', '/api/v1/transactions/commit', commit)
      const aborted = await operate('commitTransaction', '/api/v1/transactions/commit', commit)

      expect(committed.status).to.equal(200)
      expect(aborted.status).to.equal(409)
      const body: unknown = JSON.parse(aborted.body)
      expect(body).to.include({
        status: 'aborted',
        code: 'CONFLICT',
      })
      expect(body).to.have.nested.property('conflict.key', 'new')
      expect(body)
        .to.have.nested.property('conflict.message')
        .that.matches(/^version changed/)
      expect(body).to.have.property('error').that.includes('"new"')
    })

    it('merge a page, compressed or not', async () => {
      const page = '{"records":{"z":{"n":12345678901234567890},"b":{"n":2}}}'

      const trial = await operate(
        'mergeTable',
        `${BOOKS}/merge`,
        page.replace('{', '{"dry_run":true,'),
      )
      const done = await operate('mergeTable', `${BOOKS}/merge`, gzipSync(page), {
        'content-encoding': 'gzip',
      })

      expect(JSON.parse(trial.body)).to.deep.include({
        deleted: 1,
        deleted_ids: ['a'],
        upserted: 1,
      })
      expect(JSON.parse(done.body)).to.include({ deleted: 1, upserted: 1, skipped: 1 })
      expect((await operate('lookupDocument', `${BOOKS}/lookup/a`)).status).to.equal(404)
    })

    it('scan with and without a body', async () => {
      const keys = await operate('scanTable', `${BOOKS}/lookup`)
      const range =
        '{"from":"a","inclusive_from":true,"to":"z","exclusive_to":true,"fields":["who.name"]}'
      const named = await operate('scanTable', `${BOOKS}/lookup`, range)
      const filter =
        '{"filter_query":{"min":12345678901234567890,"field":"n","inclusive_max":true}}'
      const filtered = await operate('scanTable', `${BOOKS}/lookup`, filter)

      expect(keys.headers['content-type']).to.equal('application/x-ndjson')
      expect(keys.body).to.equal('{"key":"a"}\n{"key":"z"}\n')
      expect(named.body).to.equal('{"key":"a","who":{"name":"Ann"}}\n')
      expect(filtered.body).to.equal('{"key":"z"}\n')
    })

    it('query words and vectors', async () => {
      const vectors = BOOKS.replace('books', 'vectored')
      const near = '"near":{"type":"embeddings","external":true,"dimension":2}'
      await operate('createTable', vectors, `{"indexes":{${near}}}`)
      const documents =
        '{"a":{"t":"sea","n":1,"_embeddings":{"near":[1,0]}},"b":{"t":"sea","n":2,"_embeddings":{"near":[0,1]}}}'
      const batch = `{"inserts":${documents},"sync_level":"full_index"}`
      await operate('batchWrite', `${vectors}/batch`, batch)
      const body =
        '{"full_text_search":{"match":"sea","field":"t"},"embeddings":{"near":[1,0]},"profile":true,' +
        '"merge_config":{"strategy":"rsf"},"fields":["t","_embeddings"],' +
        '"analyses":{"pca":true,"tsne":true},"aggregations":{"n":{"type":"sum","field":"n"}}}'

      const found = await operate('queryTable', `${vectors}/query`, body)

      expect(found.status).to.equal(200)
      const [answer] = JSON.parse(found.body).responses
      expect(answer.hits.hits).to.have.lengthOf(2)
      expect(answer.hits.hits[0]).to.include({ _id: 'a', _score: 2 })
      expect(answer.analyses.near.ids).to.deep.equal(['a', 'b'])
      expect(answer.profile.merge).to.deep.include({ full_text_hits: 2, semantic_hits: 2 })
    })

    it('query one table or the one that the body names', async () => {
      const body = '{"table":"books","full_text_search":{"query":"who.name:ann"},"profile":true,'
      const highlight = '"highlight":{},"aggregations":{"n":{"type":"stats","field":"n"}}}'
      const named = await operate('queryGlobal', '/api/v1/query', body + highlight)
      const found = await operate('queryTable', `${BOOKS}/query`, '{"filter_query":{"ids":["z"]}}')
      const lines = '{"count":true}\n\n{"full_text_search":{"query":"(("}}\n{"table":"none"}\n'
      const type = { 'content-type': 'application/x-ndjson' }
      const several = await operate('queryTable', `${BOOKS}/query`, lines, type)

      expect(named.body).to.include('"_highlight":{"who.name":["<em>Ann</em>"]}')
      expect(found.body).to.include('"_source":{"n":12345678901234567890}')
      const { responses } = JSON.parse(several.body)
      expect(responses.map(({ status }: { status: number }) => status)).to.deep.equal([
        200, 400, 400,
      ])
      expect(responses[1].error).to.include('column')
    })

    it('search for any text that a person types', async () => {
      const all = await operate('searchTable', `${BOOKS}/query`)
      const found = await operate(
        'searchTable',
        `${BOOKS}/query?q=ann&search_fields=who.name^3&fields=n&timeout=5s`,
      )
      const second = await operate('searchTable', `${BOOKS}/query?limit=1&offset=1`)
      const odd = await operate(
        'searchTable',
        `${BOOKS}/query?q=${encodeURIComponent('"https://x.y/?a=(b -[')}`,
      )
      const mistyped = await operate('searchTable', `${BOOKS}/query?q=anm&suggest=true`)

      expect(JSON.parse(mistyped.body).responses[0].suggestions[0].corrected).to.equal('ann')
      expect(JSON.parse(odd.body).responses[0]).to.not.have.property('suggestions')
      expect(idsIn(all.body)).to.deep.equal(['a', 'z'])
      expect(found.body).to.include('"_source":{"n":1}')
      expect(idsIn(found.body)).to.deep.equal(['a'])
      expect(idsIn(second.body)).to.deep.equal(['z'])
      expect(odd.status).to.equal(200)
    })

    it('project a document', async () => {
      const kept = await operate('lookupDocument', `${BOOKS}/lookup/a?fields=who.*`)
      const left = await operate('lookupDocument', `${BOOKS}/lookup/a?fields=-who`)

      expect([kept.body, left.body]).to.deep.equal(['{"who":{"name":"Ann"}}', '{"n":1}'])
    })

    it('publish the contract and a page that loads nothing from other servers', async () => {
      const text = await operate('getContract', '/api/v1/openapi.yaml')
      const page = await operate('getDocs', '/api/v1/docs')
      const root = await send(server.api, { method: 'GET', path: '/' })

      expect(text.body).to.equal(contract.text.toString())
      expect([root.status, root.headers.location]).to.deep.equal([302, '/api/v1/docs'])
      expect(page.headers['content-security-policy']).to.include("script-src 'self'")
      expect(page.body).to.not.match(/https?:|style=|<script>/)
      for (const [, asset] of page.body.matchAll(/(?:src|href)="([^"]+)"/g)) {
        const { status } = await send(server.api, { method: 'GET', path: `/api/v1/${asset}` })
        expect(status, asset).to.equal(200)
      }
    })

    it('answer the health check', async () => {
      expect((await operate('getHealth', '/healthz')).body).to.equal('ok')
    })

    it('load what may change while a node runs', async () => {
      const path = '/api/v1/node/reload'
      const { body } = await operate('reloadNode', path, '{"log_level":"error"}')
      const changed = JSON.parse(body)
      const first = JSON.parse((await operate('reloadNode', path)).body)
      const again = JSON.parse((await operate('reloadNode', path)).body)

      expect(changed.log_level).to.equal('error')
      expect(first.digest).to.not.equal(changed.digest)
      expect(again.digest).to.equal(first.digest)
    })

    describeSteering(operate)

    it('have all been tried above', () => {
      const ids = contract.operations.map(({ operationId }) => operationId)
      expect([...answered]).to.have.members(ids)
    })
  })
}

function memberOf(value: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>((at, name) => (isJsonRecord(at) ? at[name] : undefined), value)
}

function pointer(template: string): string {
  return template.replaceAll('/', '~1')
}

function idsIn(answer: string): readonly string[] {
  const [{ hits }] = JSON.parse(answer).responses
  return hits.hits.map(({ _id }: { readonly _id: string }) => _id)
}
