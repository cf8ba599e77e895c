import Ajv2020 from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import { isServiceError } from '../../lib/errors.ts'
import { loadContract } from '../../door/contract.ts'
import { OPERATIONS } from '../../node/api/server/handler-table.ts'
import { parseExact } from '../../node/document/exact-json.ts'
import { parseQueryRequest } from '../../node/query/request/query-request.ts'
import {
  parseCommit,
  parseCrossTable,
  parseMerge,
  parseTableWrites,
} from '../../node/document/batch-body.ts'

interface Row {
  readonly schema: string
  readonly parse: (bytes: Buffer) => unknown
  readonly good: readonly string[]
  readonly bad: readonly string[]
}

const OPERATIONS_GOOD = [
  '{"inserts":{"a":{}}}',
  '{"inserts":{"a":{"__proto__":{"x":1}}}}',
  '{"deletes":["a"]}',
  '{"deletes":["a"],"inserts":{"a":{}},"sync_level":"full_index"}',
  '{"transforms":[{"key":"a","operations":[{"op":"$inc","path":"n","value":1}]}]}',
  '{"transforms":[{"key":"a","upsert":true,"operations":[{"op":"$unset","path":"$.n.m"}]}]}',
  '{"inserts":{"a":{}},"sync_level":"embeddings"}',
]

const OPERATIONS_BAD = [
  '[]',
  'null',
  '"inserts"',
  '{"inserts":[]}',
  '{"inserts":{"a":1}}',
  '{"inserts":{"a":null}}',
  '{"inserts":{"a":[]}}',
  '{"deletes":"a"}',
  '{"deletes":[1]}',
  '{"deletes":[""]}',
  '{"deletes":["a"],"extra":1}',
  '{"deletes":["a"],"sync_level":"soon"}',
  '{"deletes":["a"],"sync_level":1}',
  '{"transforms":{}}',
  '{"transforms":[{"operations":[{"op":"$unset","path":"n"}]}]}',
  '{"transforms":[{"key":"a","operations":[]}]}',
  '{"transforms":[{"key":"a"}]}',
  '{"transforms":[{"key":"a","operations":[{"op":"$add","path":"n","value":1}]}]}',
  '{"transforms":[{"key":"a","operations":[{"op":"$unset","path":""}]}]}',
  '{"transforms":[{"key":"a","operations":[{"op":"$unset"}]}]}',
  '{"transforms":[{"key":"a","operations":[{"op":"$unset","path":"n","at":1}]}]}',
  '{"transforms":[{"key":"a","upsert":1,"operations":[{"op":"$unset","path":"n"}]}]}',
  '{"transforms":[{"key":"a","more":1,"operations":[{"op":"$unset","path":"n"}]}]}',
]

const inTable = (operations: string) => `{"tables":{"books":${operations}}}`
const claim = (fields: string) => `{"read_set":[{${fields}}]}`

const QUERIES_GOOD = [
  '{"semantic_search":"sea","indexes":["v","w"],"search_effort":0,"distance_under":-1.5}',
  '{"semantic_search":"sea","oversampling":2.5}',
  '{"semantic_search":"sea","embedding_template":"{{this}}","aggregate_over":"hits"}',
  '{"embeddings":{"v":[1,-2.5e-3],"w":"AACAPw=="},"merge_config":{"strategy":"rsf","window_size":5}}',
  '{"embeddings":{"s":{"indices":[1,4294967295],"values":[0.5,1]}},"distance_over":0}',
  '{"embeddings":{"s":{"packed_indices":"AQAAAA==","packed_values":"AACAPw=="}}}',
  '{"similar_to":{"key":"a"},"fields":["_embeddings"],"analyses":{"pca":true,"tsne":false}}',
  '{"embeddings":{"v":[1]},"merge_config":{"autocut":1,"thresholds":{"v":{"distance_under":-1,"autocut":2}}}}',
  '{"merge_config":{"thresholds":{"full_text":{"min_score":0},"v":{"distance_over":1,"distance_under":1}}}}',
  '{"pruner":{"autocut":10}}',
  '{"merge_config":{"strategy":"failover","weights":{"full_text":0.5},"rank_constant":0}}',
  '{"reranker":{"provider":"p","model":"m","field":"a.b","top_n":5},"pruner":{"require_multi_index":true}}',
  '{"reranker":{"provider":"p"},"document_renderer":"{{this.fields.a}}"}',
  '{}',
  '{"full_text_search":{"query":"sea"},"limit":0,"offset":10,"fields":["title"]}',
  '{"filter_query":{"term":"a","field":"b"},"exclusion_query":{"match_none":{}},"profile":true}',
  '{"order_by":[{"field":"n","desc":true}],"highlight":{"fields":["t"],"pre":"[","post":"]"}}',
  '{"aggregations":{"t":{"type":"terms","field":"k","sub_aggregations":{}}},"timeout":"5s"}',
  '{"count":true,"filter_prefix":"Yjo="}',
  '{"query":{"bool":{"must":{"match":{"field":"t","text":"x"}},"filter":[{"exists":{"field":"/a"}}]}}}',
  '{"query":{"terms":{"field":"t","values":["x",1,true]}}}',
  '{"filter_query":{"term":{"region":"north"}}}',
  '{"filter_query":{"geometry":{"shape":{"type":"Point","coordinates":[1,2]}},"field":"p"}}',
]
const QUERIES_BAD = [
  '{"semantic_search":""}',
  '{"semantic_search":["a"]}',
  '{"embeddings":{}}',
  '{"embeddings":[[1]]}',
  '{"embeddings":{"v":[]}}',
  '{"embeddings":{"v":["1"]}}',
  '{"embeddings":{"v":{"indices":[1]}}}',
  '{"embeddings":{"v":{"indices":[-1],"values":[1]}}}',
  '{"embeddings":{"v":7}}',
  '{"similar_to":"a"}',
  '{"similar_to":{}}',
  '{"similar_to":{"key":""}}',
  '{"indexes":[]}',
  '{"semantic_search":"a","search_effort":2}',
  '{"semantic_search":"a","oversampling":0}',
  '{"semantic_search":"a","distance_under":"1"}',
  '{"merge_config":{"strategy":"best"}}',
  '{"merge_config":{"weights":{"v":-1}}}',
  '{"merge_config":{"window_size":0}}',
  '{"merge_config":{"rank_constant":-1}}',
  '{"merge_config":{"k":1}}',
  '{"merge_config":{"autocut":0}}',
  '{"merge_config":{"thresholds":{"v":{"min_score":-1}}}}',
  '{"merge_config":{"thresholds":{"v":{"autocut":11}}}}',
  '{"merge_config":{"thresholds":{"v":{"under":1}}}}',
  '{"pruner":{"autocut":true}}',
  '{"reranker":{"model":"m"}}',
  '{"reranker":{"provider":"p","model":5}}',
  '{"reranker":{"provider":"p","top_n":0}}',
  '{"analyses":{"umap":true}}',
  '{"aggregate_over":"all"}',
  '{"pruner":{"require_multi_index":1}}',
  '[]',
  '{"limit":-1}',
  '{"limit":10001}',
  '{"limit":"10"}',
  '{"offset":1.5}',
  '{"fields":[]}',
  '{"fields":"title"}',
  '{"order_by":[{"desc":true}]}',
  '{"search_after":"x"}',
  '{"highlight":{"tag":"em"}}',
  '{"aggregations":{"t":{"type":"median","field":"k"}}}',
  '{"aggregations":[]}',
  '{"profile":1}',
  '{"timeout":5}',
  '{"reranker":{}}',
  '{"query":{"exists":{"field":"a"},"match":{"field":"t","text":"x"}}}',
  '{"query":{"bool":{}}}',
  '{"query":{"term":{"field":"t"}}}',
  '{"full_text_search":{}}',
  '{"full_text_search":{"match":"a","prefix":"b"}}',
  '{"full_text_search":{"match":1}}',
  '{"full_text_search":{"matches":"a"}}',
  '{"full_text_search":{"match":"a","fuzziness":3}}',
  '{"full_text_search":{"match":"a","boost":-1}}',
  '{"filter_query":{"field":"price"}}',
  '{"filter_query":{"min":1,"max":"b","field":"price"}}',
  '{"filter_query":{"start":1,"field":"at"}}',
  '{"filter_query":{"conjuncts":[]}}',
  '{"filter_query":{"conjuncts":[{"nonsense":1}]}}',
  '{"filter_query":{"must":[{"match_all":{}}]}}',
  '{"filter_query":{"term":{"a":"x","b":"y"}}}',
  '{"filter_query":{"polygon_points":[[0,0],[1,1]],"field":"p"}}',
  '{"filter_query":{"top_left":[0,1],"field":"p"}}',
  '{"filter_query":{"geometry":{"shape":{"type":"Circle"}},"field":"p"}}',
  '{"filter_query":{"multi_match":{"query":"a","fields":[],"type":"bool_prefix"}}}',
  '{"filter_query":{"ids":"a"}}',
]
const query = (bytes: Buffer): unknown => parseQueryRequest(parseExact(bytes))

const rows: Readonly<Record<string, Row>> = {
  batchWrite: {
    schema: 'BatchRequest',
    parse: (bytes) => parseTableWrites('books', bytes),
    good: OPERATIONS_GOOD,
    bad: ['{}', ...OPERATIONS_BAD],
  },
  crossTableBatch: {
    schema: 'CrossTableBatchRequest',
    parse: parseCrossTable,
    good: OPERATIONS_GOOD.map(inTable),
    bad: ['{}', '[]', '{"tables":[]}', '{"table":{}}', ...OPERATIONS_BAD.map(inTable)],
  },
  commitTransaction: {
    schema: 'CommitRequest',
    parse: parseCommit,
    good: [...OPERATIONS_GOOD.map(inTable), claim('"table":"books","key":"a","version":"0"')],
    bad: [
      '[]',
      '{"read_set":{}}',
      claim('"table":"books","key":"a"'),
      claim('"table":"books","version":"1"'),
      claim('"key":"a","version":"1"'),
      claim('"table":"books","key":"a","version":1'),
      claim('"table":"books","key":"a","version":"-1"'),
      claim('"table":"books","key":"a","version":""'),
      claim('"table":"books","key":"a","version":"123456789012345678901234567890"'),
      claim('"table":"books","key":"","version":"1"'),
      claim('"table":"books","key":"a","version":"1","x":1'),
      ...OPERATIONS_BAD.map(inTable),
    ],
  },
  mergeTable: {
    schema: 'MergeRequest',
    parse: parseMerge,
    good: [
      '{}',
      '{"records":{}}',
      '{"records":{"b":{},"a":{}},"last_merged_id":"","dry_run":true}',
      '{"records":{"b":{}},"last_merged_id":"a","sync_level":"write"}',
    ],
    bad: [
      '[]',
      '{"records":[]}',
      '{"records":{"a":1}}',
      '{"records":{},"last_merged_id":1}',
      '{"records":{},"dry_run":"yes"}',
      '{"records":{},"sync_level":"soon"}',
      '{"records":{},"more":1}',
    ],
  },
  queryTable: { schema: 'QueryRequest', parse: query, good: QUERIES_GOOD, bad: QUERIES_BAD },
  queryGlobal: { schema: 'QueryRequest', parse: query, good: QUERIES_GOOD, bad: QUERIES_BAD },
}

describe('the byte parsers and the contract', () => {
  const ajv = addFormats.default(new Ajv2020.default({ strict: false }))
  ajv.addSchema(loadContract('store.v1').document, 'contract')

  it('are compared for every operation whose body is parsed from bytes', () => {
    const fromBytes = Object.entries(OPERATIONS).filter(([, { body }]) => body !== 'json')
    expect(Object.keys(rows)).to.have.members(fromBytes.map(([id]) => id))
  })

  for (const [operationId, { schema, parse, good, bad }] of Object.entries(rows)) {
    const validate = ajv.compile({ $ref: `contract#/components/schemas/${schema}` })

    for (const text of good) {
      it(`accept for ${operationId}: ${text}`, () => {
        expect(validate(JSON.parse(text)), JSON.stringify(validate.errors)).to.equal(true)
        expect(refusalOf(() => parse(Buffer.from(text)))).to.equal(undefined)
      })
    }

    for (const text of bad) {
      it(`refuse for ${operationId}: ${text}`, () => {
        expect(validate(JSON.parse(text))).to.equal(false)
        expect(refusalOf(() => parse(Buffer.from(text)))).to.equal('INVALID_ARGUMENT')
      })
    }
  }
})

function refusalOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return isServiceError(error) ? error.code : String(error)
  }
}
