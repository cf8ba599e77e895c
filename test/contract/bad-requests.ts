// Bad input, endpoint by endpoint: what is sent to a store with the table "books" (prepareBooks), and the code that must
// come back.

import { gzipSync } from 'node:zlib'
import type { Row } from './bad-cluster-requests.ts'
import { BAD_QUERIES, BAD_SEARCHES } from './bad-queries.ts'

const T = '/api/v1/tables'
const BOOKS = `${T}/books`
/** As the contract has it. */
const BODY_BYTES_MAX = 64 * 1024 * 1024
const claim = (version: unknown) =>
  JSON.stringify({ read_set: [{ table: 'books', key: 'book/1', version }] })

/** By operation. */
export const BAD_REQUESTS: Readonly<Record<string, readonly Row[]>> = {
  'routes and methods': [
    ['an unknown route', { method: 'GET', path: '/api/v1/tabels' }, 'NOT_FOUND'],
    ['a route without its prefix', { method: 'GET', path: '/tables' }, 'NOT_FOUND'],
    ['a double slash', { method: 'GET', path: '/api/v1//tables' }, 'NOT_FOUND'],
    ['another case', { method: 'GET', path: '/API/v1/tables' }, 'NOT_FOUND'],
    ['a very long path', { method: 'GET', path: `/${'x'.repeat(8000)}` }, 'NOT_FOUND'],
    ['PATCH', { method: 'PATCH', path: T }, 'METHOD_NOT_ALLOWED'],
    ['OPTIONS', { method: 'OPTIONS', path: BOOKS }, 'METHOD_NOT_ALLOWED'],
    [
      'a file outside the docs',
      { method: 'GET', path: '/api/v1/docs/..%2f..%2fpackage.json' },
      'NOT_FOUND',
    ],
    ['an unknown docs file', { method: 'GET', path: '/api/v1/docs/package.json' }, 'NOT_FOUND'],
  ],
  listTables: [
    ['an unknown query', { method: 'GET', path: `${T}?limit=1` }, 'INVALID_ARGUMENT'],
    ['__proto__ as a query', { method: 'GET', path: `${T}?__proto__=1` }, 'INVALID_ARGUMENT'],
    ['a repeated query', { method: 'GET', path: `${T}?prefix=a&prefix=b` }, 'INVALID_ARGUMENT'],
    ['an empty pattern', { method: 'GET', path: `${T}?pattern=` }, 'INVALID_ARGUMENT'],
    [
      'a long prefix',
      { method: 'GET', path: `${T}?prefix=${'a'.repeat(256)}` },
      'INVALID_ARGUMENT',
    ],
    [
      'a long pattern',
      { method: 'GET', path: `${T}?pattern=${'a'.repeat(501)}` },
      'INVALID_ARGUMENT',
    ],
    [
      'a pattern with an open group',
      { method: 'GET', path: `${T}?pattern=(a` },
      'INVALID_ARGUMENT',
    ],
    ['a back-reference', { method: 'GET', path: `${T}?pattern=(a)%5C1` }, 'INVALID_ARGUMENT'],
    ['look-ahead', { method: 'GET', path: `${T}?pattern=(?%3Da)` }, 'INVALID_ARGUMENT'],
  ],
  createTable: [
    ['a table that exists', { path: BOOKS, body: '{}' }, 'ALREADY_EXISTS'],
    ['an array', { path: `${T}/new`, body: '[]' }, 'INVALID_ARGUMENT'],
    ['null', { path: `${T}/new`, body: 'null' }, 'INVALID_ARGUMENT'],
    ['a cut body', { path: `${T}/new`, body: '{"num_shards":' }, 'INVALID_ARGUMENT'],
    ['NaN', { path: `${T}/new`, body: '{"num_shards":NaN}' }, 'INVALID_ARGUMENT'],
    ['no shards', { path: `${T}/new`, body: '{"num_shards":0}' }, 'INVALID_ARGUMENT'],
    ['513 shards', { path: `${T}/new`, body: '{"num_shards":513}' }, 'INVALID_ARGUMENT'],
    ['half a shard', { path: `${T}/new`, body: '{"num_shards":1.5}' }, 'INVALID_ARGUMENT'],
    ['shards as text', { path: `${T}/new`, body: '{"num_shards":"2"}' }, 'INVALID_ARGUMENT'],
    ['an unknown field', { path: `${T}/new`, body: '{"shards":2}' }, 'INVALID_ARGUMENT'],
    ['__proto__', { path: `${T}/new`, body: '{"__proto__":{"num_shards":2}}' }, 'INVALID_ARGUMENT'],
    [
      'an index of a kind that does not exist yet',
      { path: `${T}/new`, body: '{"indexes":{"v":{"type":"graph"}}}' },
      'INVALID_ARGUMENT',
    ],
    [
      'an embedder that does not exist',
      {
        path: `${T}/new`,
        body: '{"indexes":{"v":{"type":"embeddings","embedder":{"provider":"oracle"}}}}',
      },
      'INVALID_ARGUMENT',
    ],
    [
      'unsorted split keys',
      { path: `${T}/new`, body: '{"split_keys":["b","a"]}' },
      'INVALID_ARGUMENT',
    ],
    [
      'equal split keys',
      { path: `${T}/new`, body: '{"split_keys":["a","a"]}' },
      'INVALID_ARGUMENT',
    ],
    ['an empty split key', { path: `${T}/new`, body: '{"split_keys":[""]}' }, 'INVALID_ARGUMENT'],
    [
      '512 split keys',
      { path: `${T}/new`, body: JSON.stringify({ split_keys: Array(512).fill('a') }) },
      'INVALID_ARGUMENT',
    ],
    [
      'a count that contradicts',
      { path: `${T}/new`, body: '{"num_shards":3,"split_keys":["a"]}' },
      'INVALID_ARGUMENT',
    ],
    [
      'a long description',
      { path: `${T}/new`, body: JSON.stringify({ description: 'x'.repeat(501) }) },
      'INVALID_ARGUMENT',
    ],
    [
      'a bad schema',
      { path: `${T}/new`, body: '{"schema":{"default_type":"x","document_schemas":{}}}' },
      'INVALID_ARGUMENT',
    ],
    [
      'nesting without end',
      { path: `${T}/new`, body: '{"schema":'.repeat(100_000) },
      'INVALID_ARGUMENT',
    ],
    ['a space in the name', { path: `${T}/a%20b`, body: '{}' }, 'INVALID_ARGUMENT'],
    ['a slash in the name', { path: `${T}/a%2Fb`, body: '{}' }, 'INVALID_ARGUMENT'],
    ['a parent folder as the name', { path: `${T}/%2e%2e`, body: '{}' }, 'INVALID_ARGUMENT'],
    ['NUL in the name', { path: `${T}/a%00`, body: '{}' }, 'INVALID_ARGUMENT'],
    ['emoji in the name', { path: `${T}/%F0%9F%93%9A`, body: '{}' }, 'INVALID_ARGUMENT'],
    ['__proto__ as the name', { path: `${T}/__proto__`, body: '{}' }, 'INVALID_ARGUMENT'],
    ['256 characters', { path: `${T}/${'a'.repeat(256)}`, body: '{}' }, 'INVALID_ARGUMENT'],
    [
      'a form',
      {
        path: `${T}/new`,
        body: 'a=1',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
      'UNSUPPORTED_MEDIA_TYPE',
    ],
  ],
  getTable: [['an unknown table', { method: 'GET', path: `${T}/none` }, 'NOT_FOUND']],
  dropTable: [['an unknown table', { method: 'DELETE', path: `${T}/none` }, 'NOT_FOUND']],
  updateTableSchema: [
    ['no body', { method: 'PUT', path: `${BOOKS}/schema` }, 'INVALID_ARGUMENT'],
    ['an unknown table', { method: 'PUT', path: `${T}/none/schema`, body: '{}' }, 'NOT_FOUND'],
    [
      'an unknown field',
      { method: 'PUT', path: `${BOOKS}/schema`, body: '{"ttl":"1d"}' },
      'INVALID_ARGUMENT',
    ],
    [
      'an unknown analyzer',
      {
        method: 'PUT',
        path: `${BOOKS}/schema`,
        body: '{"document_schemas":{"b":{"schema":{"properties":{"t":{"x-service-analyzer":"x"}}}}}}',
      },
      'INVALID_ARGUMENT',
      /#\/properties\/t\/x-service-analyzer: unknown "x"; known are standard, html/,
    ],
    [
      'an unknown analyzer of a template',
      {
        method: 'PUT',
        path: `${BOOKS}/schema`,
        body: '{"dynamic_templates":[{"mapping":{"type":"text","analyzer":"x"}}]}',
      },
      'INVALID_ARGUMENT',
      /dynamic_templates\[0\].mapping.analyzer: must be one of standard, html/,
    ],
    [
      'a bad duration',
      { method: 'PUT', path: `${BOOKS}/schema`, body: '{"ttl_duration":"7x"}' },
      'INVALID_ARGUMENT',
    ],
  ],
  listIndexes: [['an unknown table', { method: 'GET', path: `${T}/none/indexes` }, 'NOT_FOUND']],
  getIndex: [
    ['an unknown table', { method: 'GET', path: `${T}/none/indexes/a` }, 'NOT_FOUND'],
    ['an unknown index', { method: 'GET', path: `${BOOKS}/indexes/none` }, 'NOT_FOUND'],
  ],
  createIndex: [
    ['no body', { path: `${BOOKS}/indexes/a` }, 'INVALID_ARGUMENT'],
    ['no type', { path: `${BOOKS}/indexes/a`, body: '{}' }, 'INVALID_ARGUMENT'],
    ['an unknown type', { path: `${BOOKS}/indexes/a`, body: '{"type":"x"}' }, 'INVALID_ARGUMENT'],
    [
      'a type that does not exist yet',
      { path: `${BOOKS}/indexes/a`, body: '{"type":"graph"}' },
      'INVALID_ARGUMENT',
    ],
    [
      'an unknown setting',
      { path: `${BOOKS}/indexes/a`, body: '{"type":"full_text","dimension":3}' },
      'INVALID_ARGUMENT',
    ],
    [
      'a path that does not parse',
      { path: `${BOOKS}/indexes/a`, body: '{"type":"embeddings","field":"a..b"}' },
      'INVALID_ARGUMENT',
    ],
    [
      'another name inside',
      { path: `${BOOKS}/indexes/a`, body: '{"type":"full_text","name":"b"}' },
      'INVALID_ARGUMENT',
    ],
    [
      'a reserved name',
      { path: `${BOOKS}/indexes/full_text_index_v1`, body: '{"type":"full_text"}' },
      'INVALID_ARGUMENT',
    ],
    [
      'a slash in the name',
      { path: `${BOOKS}/indexes/a%2Fb`, body: '{"type":"full_text"}' },
      'INVALID_ARGUMENT',
    ],
    [
      'an unknown table',
      { path: `${T}/none/indexes/a`, body: '{"type":"full_text"}' },
      'NOT_FOUND',
    ],
  ],
  dropIndex: [
    [
      'a reserved name',
      { method: 'DELETE', path: `${BOOKS}/indexes/full_text_index_v1` },
      'INVALID_ARGUMENT',
    ],
    ['an unknown index', { method: 'DELETE', path: `${BOOKS}/indexes/none` }, 'NOT_FOUND'],
  ],
  batchWrite: [
    [
      'one bad document of two',
      { path: `${BOOKS}/batch`, body: '{"inserts":{"good":{},"bad":1}}' },
      'INVALID_ARGUMENT',
    ],
    [
      'a truncated document',
      { path: `${BOOKS}/batch`, body: '{"inserts":{"good":{"a":' },
      'INVALID_ARGUMENT',
    ],
    ['an empty key', { path: `${BOOKS}/batch`, body: '{"inserts":{"":{}}}' }, 'INVALID_ARGUMENT'],
    [
      'a long key',
      { path: `${BOOKS}/batch`, body: JSON.stringify({ deletes: ['k'.repeat(1025)] }) },
      'INVALID_ARGUMENT',
    ],
    [
      'a lone surrogate',
      { path: `${BOOKS}/batch`, body: '{"deletes":["\\ud800"]}' },
      'INVALID_ARGUMENT',
    ],
    [
      'depth',
      { path: `${BOOKS}/batch`, body: `{"inserts":{"a":${'{"a":'.repeat(50_000)}` },
      'INVALID_ARGUMENT',
    ],
    [
      '$inc on text',
      {
        path: `${BOOKS}/batch`,
        body: '{"transforms":[{"key":"book/1","operations":[{"op":"$inc","path":"title","value":1}]}]}',
      },
      'INVALID_ARGUMENT',
    ],
    [
      'a used idempotency key',
      { path: `${BOOKS}/batch`, body: '{"deletes":["z"]}', headers: { 'idempotency-key': 'used' } },
      'IDEMPOTENCY_MISMATCH',
    ],
    [
      'a long idempotency key',
      {
        path: `${BOOKS}/batch`,
        body: '{"deletes":["z"]}',
        headers: { 'idempotency-key': 'k'.repeat(256) },
      },
      'INVALID_ARGUMENT',
    ],
    [
      'an empty idempotency key',
      { path: `${BOOKS}/batch`, body: '{"deletes":["z"]}', headers: { 'idempotency-key': '' } },
      'INVALID_ARGUMENT',
    ],
  ],
  crossTableBatch: [
    ['no tables', { path: '/api/v1/batch', body: '{"tables":{}}' }, 'INVALID_ARGUMENT'],
    [
      'one unknown table of two',
      {
        path: '/api/v1/batch',
        body: '{"tables":{"books":{"inserts":{"good":{}}},"none":{"deletes":["a"]}}}',
      },
      'NOT_FOUND',
    ],
    [
      'a bad table name',
      { path: '/api/v1/batch', body: '{"tables":{"../x":{"deletes":["a"]}}}' },
      'INVALID_ARGUMENT',
    ],
    [
      '__proto__ as a table',
      { path: '/api/v1/batch', body: '{"tables":{"__proto__":{"deletes":["a"]}}}' },
      'INVALID_ARGUMENT',
    ],
  ],
  commitTransaction: [
    ['nothing', { path: '/api/v1/transactions/commit', body: '{}' }, 'INVALID_ARGUMENT'],
    [
      'a number as version',
      { path: '/api/v1/transactions/commit', body: claim(1) },
      'INVALID_ARGUMENT',
    ],
    [
      'a negative version',
      { path: '/api/v1/transactions/commit', body: claim('-1') },
      'INVALID_ARGUMENT',
    ],
    [
      '30 digits',
      { path: '/api/v1/transactions/commit', body: claim('1'.repeat(30)) },
      'INVALID_ARGUMENT',
    ],
    [
      'beyond 64 bits',
      { path: '/api/v1/transactions/commit', body: claim('18446744073709551616') },
      'INVALID_ARGUMENT',
    ],
    ['an old version', { path: '/api/v1/transactions/commit', body: claim('1') }, 'CONFLICT'],
    [
      'version 0 of what exists',
      { path: '/api/v1/transactions/commit', body: claim('0') },
      'CONFLICT',
    ],
    [
      'an unknown table in the read set',
      {
        path: '/api/v1/transactions/commit',
        body: '{"read_set":[{"table":"none","key":"a","version":"0"}]}',
      },
      'NOT_FOUND',
    ],
    [
      'a bad table in the read set',
      {
        path: '/api/v1/transactions/commit',
        body: '{"read_set":[{"table":"a/b","key":"a","version":"0"}]}',
      },
      'INVALID_ARGUMENT',
    ],
  ],
  mergeTable: [
    ['no body', { path: `${BOOKS}/merge` }, 'INVALID_ARGUMENT'],
    [
      'a cursor beyond the page',
      { path: `${BOOKS}/merge`, body: '{"records":{"a":{}},"last_merged_id":"b"}' },
      'INVALID_ARGUMENT',
    ],
    [
      'deflate',
      { path: `${BOOKS}/merge`, body: '{}', headers: { 'content-encoding': 'deflate' } },
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    [
      'cut gzip',
      {
        path: `${BOOKS}/merge`,
        body: gzipSync('{"records":{}}').subarray(0, 20),
        headers: { 'content-encoding': 'gzip' },
      },
      'INVALID_ARGUMENT',
    ],
    [
      'a gzip bomb',
      {
        path: `${BOOKS}/merge`,
        body: gzipSync(Buffer.alloc(BODY_BYTES_MAX + 1, 32)),
        headers: { 'content-encoding': 'gzip' },
      },
      'PAYLOAD_TOO_LARGE',
    ],
  ],
  scanTable: [
    ['an unknown table', { path: `${T}/none/lookup` }, 'NOT_FOUND'],
    [
      'from beyond to',
      { path: `${BOOKS}/lookup`, body: '{"from":"b","to":"a"}' },
      'INVALID_ARGUMENT',
    ],
    ['limit 0', { path: `${BOOKS}/lookup`, body: '{"limit":0}' }, 'INVALID_ARGUMENT'],
    ['limit -1', { path: `${BOOKS}/lookup`, body: '{"limit":-1}' }, 'INVALID_ARGUMENT'],
    ['limit 1e300', { path: `${BOOKS}/lookup`, body: '{"limit":1e300}' }, 'INVALID_ARGUMENT'],
    ['no fields', { path: `${BOOKS}/lookup`, body: '{"fields":[]}' }, 'INVALID_ARGUMENT'],
    [
      '1001 fields',
      { path: `${BOOKS}/lookup`, body: JSON.stringify({ fields: Array(1001).fill('a') }) },
      'INVALID_ARGUMENT',
    ],
    ['an empty step', { path: `${BOOKS}/lookup`, body: '{"fields":["a..b"]}' }, 'INVALID_ARGUMENT'],
    [
      'an empty filter',
      { path: `${BOOKS}/lookup`, body: '{"filter_query":{}}' },
      'INVALID_ARGUMENT',
    ],
    [
      'a deep filter',
      {
        path: `${BOOKS}/lookup`,
        body: `{"filter_query":${'{"must":'.repeat(1000)}{"match_all":{}}${'}'.repeat(1001)}`,
      },
      'INVALID_ARGUMENT',
    ],
    [
      'a long bound',
      { path: `${BOOKS}/lookup`, body: JSON.stringify({ from: 'k'.repeat(1025) }) },
      'INVALID_ARGUMENT',
    ],
  ],
  searchTable: [
    ['an unknown table', { method: 'GET', path: `${T}/none/query?q=x` }, 'NOT_FOUND'],
    ...Object.entries(BAD_SEARCHES).map(([query, message]): Row => [
      query,
      { method: 'GET', path: `${BOOKS}/query?${query}` },
      'INVALID_ARGUMENT',
      message,
    ]),
  ],
  queryTable: [
    ['no body', { path: `${BOOKS}/query` }, 'INVALID_ARGUMENT'],
    ['blank lines', { path: `${BOOKS}/query`, body: '\n \n' }, 'INVALID_ARGUMENT'],
    ['an unknown table', { path: `${T}/none/query`, body: '{}' }, 'NOT_FOUND'],
    ...Object.entries(BAD_QUERIES).map(([name, [body, message]]): Row => [
      name,
      { path: `${BOOKS}/query`, body },
      'INVALID_ARGUMENT',
      message,
    ]),
    [
      'an index that is not there',
      { path: `${BOOKS}/query`, body: '{"indexes":["notes"]}' },
      'NOT_FOUND',
      /table "books" has no index "notes"; there are full_text_index_v0/,
    ],
    [
      'more queries than one request may have',
      { path: `${BOOKS}/query`, body: '{"count":true}\n'.repeat(101) },
      'INVALID_ARGUMENT',
    ],
  ],
  queryGlobal: [
    ['no table', { path: '/api/v1/query', body: '{}' }, 'INVALID_ARGUMENT'],
    ['a bad table', { path: '/api/v1/query', body: '{"table":"a/b"}' }, 'INVALID_ARGUMENT'],
    ['an unknown table', { path: '/api/v1/query', body: '{"table":"none"}' }, 'NOT_FOUND'],
  ],
  lookupDocument: [
    ['empty fields', { method: 'GET', path: `${BOOKS}/lookup/a?fields=` }, 'INVALID_ARGUMENT'],
    ['a gap', { method: 'GET', path: `${BOOKS}/lookup/a?fields=a,,b` }, 'INVALID_ARGUMENT'],
    ['a bare minus', { method: 'GET', path: `${BOOKS}/lookup/a?fields=-` }, 'INVALID_ARGUMENT'],
  ],
}
