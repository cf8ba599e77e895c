import { expect } from 'chai'
import * as fc from 'fast-check'
import { SYNC_LEVELS } from '../../../../node/document/writes.ts'
import {
  parseCommit,
  parseCrossTable,
  parseMerge,
  parseTableWrites,
} from '../../../../node/document/batch-body.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import {
  DOCUMENT_BYTES_MAX,
  checkDocumentLimits,
} from '../../../../node/document/document-limits.ts'
import type { Insert } from '../../../../node/document/writes.ts'

const single = (text: string) => parseTableWrites('t', Buffer.from(text))
const shown = (inserts: readonly Insert[]) =>
  inserts.map(({ key, json }) => [String(key), String(json)])
const levelOf = (text: string) => parseCrossTable(Buffer.from(text)).syncLevel
const commit = (text: string) => parseCommit(Buffer.from(text))

const merge = (text: string) => parseMerge(Buffer.from(text))

const longKey = 'k'.repeat(1025)

describe('parseTableWrites', () => {
  it('reads a whole batch', () => {
    const { writes, syncLevel } = single(
      ` {"sync_level": "full_text", "deletes": ["x", "é"], "inserts": {"a/b": {"n": 1.0, "s": " "}, "\\u00e9":{}},
        "transforms": [{"key": "k", "operations": [{"op": "$inc", "path": "$.a.b", "value": 1}]}]} `,
    )

    expect(writes.table).to.equal('t')
    expect(shown(writes.inserts)).to.deep.equal([
      ['a/b', '{"n":1.0,"s":" "}'],
      ['é', '{}'],
    ])
    expect(writes.deletes.map(String)).to.deep.equal(['x', 'é'])
    expect(writes.transforms).to.deep.equal([
      {
        key: Buffer.from('k'),
        operations: [{ operator: '$inc', path: ['a', 'b'], value: Buffer.from('1') }],
        upsert: false,
      },
    ])
    expect(syncLevel).to.equal('full_text')
  })

  it('does not copy documents that are compact already', () => {
    const bytes = Buffer.from('{"inserts":{"key":{"a":12345678901234567890}}}')
    const [insert] = parseTableWrites('t', bytes).writes.inserts
    expect(insert!.json.buffer).to.equal(bytes.buffer)
    expect(insert!.key.buffer).to.equal(bytes.buffer)
    expect(insert!.json.byteOffset - bytes.byteOffset).to.equal(18)
  })

  it('keeps the last of several documents for one key', () => {
    const { writes } = single('{"inserts":{"a":{"n":1},"b":{},"\\u0061":{"n":2},"a":{"n":3}}}')
    expect(shown(writes.inserts)).to.deep.equal([
      ['a', '{"n":3}'],
      ['b', '{}'],
    ])
  })

  it('keeps names of the prototype as keys and members', () => {
    const { writes } = single('{"inserts":{"__proto__":{"__proto__":1},"constructor":{"a":2}}}')
    expect(shown(writes.inserts)).to.deep.equal([
      ['__proto__', '{"__proto__":1}'],
      ['constructor', '{"a":2}'],
    ])
  })

  it('reads every sync level, the alias, and the default', () => {
    for (const level of SYNC_LEVELS) {
      expect(single(`{"deletes":["a"],"sync_level":"${level}"}`).syncLevel).to.equal(level)
    }
    expect(single('{"deletes":["a"],"sync_level":"embeddings"}').syncLevel).to.equal('aknn')
    expect(single('{"deletes":["a"]}').syncLevel).to.equal('propose')
  })

  it('returns all documents unchanged', () => {
    const document = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))
    const key = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
    fc.assert(
      fc.property(fc.dictionary(key, document, { minKeys: 1 }), fc.nat(3), (inserts, indent) => {
        const { writes } = single(JSON.stringify({ inserts }, null, indent))
        expect(shown(writes.inserts)).to.deep.equal(
          Object.entries(inserts).map(([name, value]) => [name, JSON.stringify(value)]),
        )
      }),
    )
  })

  const refused: Record<string, string> = {
    '{}': 'the batch is empty',
    '{"inserts":{},"deletes":[]}': 'the batch is empty',
    '[]': 'the body must be an object, not array',
    x: "malformed JSON at byte 0: expected '{'",
    '{"inserts":x}': "inserts: malformed JSON at byte 11: expected '{'",
    '{"inserts":-1}': 'inserts: must be an object of documents by their keys',
    '{"inserts":{"a":{}}} x': 'at byte 21: expected the end of the text',
    '{"foo":1}': 'unknown field "foo"; allowed are inserts, deletes, transforms, sync_level',
    '{"__proto__":1}': 'unknown field "__proto__"',
    '{"read_set":[]}': 'unknown field "read_set"',
    '{"deletes":["a"],"deletes":["b"]}': 'field "deletes" is given twice',
    '{"inserts":[]}':
      'inserts: must be an object of documents by their keys, like {"book/1": {"title": "Sea charts"}}, not array',
    '{"inserts":{"a/b":3}}': 'inserts["a/b"]: must be an object, not number',
    '{"inserts":{"a":null}}': 'inserts["a"]: must be an object, not null',
    '{"inserts":{"a":{"x":tru}}}': 'inserts["a"]: malformed JSON at byte 21: expected \'true\'',
    '{"inserts":{"":{}}}': 'inserts[""]: key must not be empty',
    '{"inserts":{"\\ud800":{}}}': 'inserts["\\ud800"]: key is not valid Unicode',
    [`{"inserts":{"${longKey}":{}}}`]: `inserts["${'k'.repeat(64)}..."]: key has 1025 bytes`,
    [`{"inserts":{"a":${'['.repeat(101)}}}`]: 'inserts["a"]: JSON at byte 116 is nested deeper',
    '{"inserts":{"a":{"x":1e999}}}': 'inserts["a"]: number at byte 21 is beyond the range',
    '{"deletes":"a"}': 'deletes: must be an array, not string',
    '{"deletes":null}': 'deletes: must be an array, not null',
    '{"deletes":["a",5]}': 'deletes[1]: must be a string, the key of a document',
    '{"deletes":[""]}': 'deletes[0]: key must not be empty',
    '{"deletes":["\\udc00"]}': 'deletes[0]: key is not valid Unicode',
    [`{"deletes":["${longKey}"]}`]: 'deletes[0]: key has 1025 bytes',
    '{"deletes":["a"],"sync_level":"fast"}': 'sync_level: must be one of propose, write',
    '{"deletes":["a"],"sync_level":null}': 'sync_level: must be one of',
    '{"transforms":{}}': 'transforms: must be an array, not object',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${text.slice(0, 50)}`, () => {
      expect(() => single(text))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }

  it('limits the size of a document, white space not counted', () => {
    const filler = 'x'.repeat(DOCUMENT_BYTES_MAX - '{"a":""}'.length)
    const [insert] = single(`{"inserts":{"k":{ "a": "${filler}" }}}`).writes.inserts
    expect(insert!.json.length).to.equal(DOCUMENT_BYTES_MAX)
    expect(() => single(`{"inserts":{"k":{"a":"${filler}y"}}}`)).to.throw(
      `inserts["k"]: document has ${DOCUMENT_BYTES_MAX + 1} bytes`,
    )
    expect(() => runAtOnce(checkDocumentLimits(Buffer.from(`{"a":"${filler}y"}`)))).to.throw(
      'document has',
    )
    expect(() => runAtOnce(checkDocumentLimits(Buffer.from('['.repeat(101))))).to.throw(
      'nested deeper',
    )
  })
})

describe('parseCrossTable', () => {
  it('reads the writes of several tables and drops tables without writes', () => {
    const { writes, syncLevel } = parseCrossTable(
      Buffer.from('{"tables":{"a":{"inserts":{"k":{}}},"__proto__":{"deletes":["x"]},"c":{}}}'),
    )
    expect(writes.map(({ table }) => table)).to.deep.equal(['a', '__proto__'])
    expect(shown(writes[0]!.inserts)).to.deep.equal([['k', '{}']])
    expect(writes[1]!.deletes.map(String)).to.deep.equal(['x'])
    expect(syncLevel).to.equal('propose')
  })

  it('uses the sync level of the body, or else the strongest of the tables', () => {
    const tables =
      '"tables":{"a":{"deletes":["x"],"sync_level":"full_text"},"b":{"sync_level":"write"}}'
    expect(levelOf(`{${tables}}`)).to.equal('full_text')
    expect(levelOf(`{"sync_level":"write",${tables}}`)).to.equal('write')
  })

  const refused: Record<string, string> = {
    '{}': 'the batch is empty',
    '{"tables":{"a":{}}}': 'tables: the batch is empty',
    '{"tables":{"a":{"deletes":["x"]},"a":{}}}': 'tables["a"]: the table is given twice',
    '{"tables":{"":{"deletes":["x"]}}}': 'tables[""]: a table name must not be empty',
    '{"tables":{"a":[]}}': 'tables["a"]: must be an object, not array',
    '{"tables":{"a":{"foo":1}}}': 'tables["a"]: unknown field "foo"',
    '{"tables":{"a":{"inserts":{"k":1}}}}': 'tables["a"].inserts["k"]: must be an object',
    '{"tables":{"a":{"deletes":[1]}}}':
      'tables["a"].deletes[0]: must be a string, the key of a document',
    '{"tables":{"a":{"sync_level":"x"}}}': 'tables["a"].sync_level: must be one of',
    '{"tables":{"a":{"transforms":[1]}}}': 'tables["a"].transforms[0]: must be an object',
    '{"tables":{"a":{"deletes":["x"]}},"read_set":[]}': 'unknown field "read_set"',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${text}`, () => {
      expect(() => parseCrossTable(Buffer.from(text))).to.throw(message)
    })
  }
})

describe('parseCommit', () => {
  it('reads a read set with and without writes', () => {
    const readSet =
      '[{"table":"a","key":"k","version":"18446744073709551615"},{"table":"b","key":"l","version":"0"}]'
    const alone = commit(`{"read_set":${readSet}}`)
    expect(alone.writes).to.deep.equal([])
    expect(alone.readSet).to.deep.equal([
      { table: 'a', key: Buffer.from('k'), version: 18446744073709551615n },
      { table: 'b', key: Buffer.from('l'), version: 0n },
    ])
    expect(commit('{"tables":{"a":{"deletes":["x"]}},"read_set":[]}').writes.length).to.equal(1)
  })

  const refused: Record<string, string> = {
    '{}': 'the transaction is empty',
    '{"read_set":{}}': 'read_set: must be an array, not object',
    '{"read_set":[1]}': 'read_set[0]: must be an object, not number',
    '{"read_set":[{"table":"a","key":"k","version":"1","x":1}]}': 'read_set[0]: unknown field "x"',
    '{"read_set":[{"key":"k","version":"1"}]}': 'read_set[0].table: must be',
    '{"read_set":[{"table":"a","version":"1"}]}':
      'read_set[0].key: must be a string, the key of a document',
    '{"read_set":[{"table":"a","key":"","version":"1"}]}': 'read_set[0].key: key must not be empty',
    ...Object.fromEntries(
      ['5', '""', '"-1"', '"0x1"', '"1.0"', '" 1"', '"18446744073709551616"', 'null'].map(
        (version) => [
          `{"read_set":[{"table":"a","key":"k","version":${version}}]}`,
          'read_set[0].version: must be a string with the decimal digits',
        ],
      ),
    ),
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${text}`, () => {
      expect(() => commit(text))
        .to.throw(message)
        .with.property('code', 'INVALID_ARGUMENT')
    })
  }
})

describe('parseMerge', () => {
  it('sorts records by the bytes of their keys', () => {
    const { records } = merge(
      '{"records":{"b":{},"\u{10000}":{},"\uffff":{},"a":{"x":1},"a":{"x":2}}}',
    )
    expect(records.map(({ key }) => String(key))).to.deep.equal(['a', 'b', '\uffff', '\u{10000}'])
    expect(String(records[0]!.json)).to.equal('{"x":2}')
  })

  it('reads the other fields and their defaults', () => {
    expect(merge('{}')).to.deep.equal({
      records: [],
      lastMergedId: undefined,
      dryRun: false,
      syncLevel: 'propose',
    })
    expect(merge('{"last_merged_id":""}').lastMergedId).to.equal(undefined)
    expect(merge('{"last_merged_id":"k","dry_run":true,"sync_level":"write"}')).to.deep.equal({
      records: [],
      lastMergedId: Buffer.from('k'),
      dryRun: true,
      syncLevel: 'write',
    })
  })

  const refused: Record<string, string> = {
    '{"records":[]}': 'records: must be an object of documents by their keys',
    '{"records":{"a":1}}': 'records["a"]: must be an object',
    '{"last_merged_id":5}': 'last_merged_id: must be a string, the key of a document',
    '{"dry_run":"yes"}': 'dry_run: must be true or false',
    '{"inserts":{}}': 'unknown field "inserts"; allowed are records, last_merged_id, dry_run',
  }
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${text}`, () => {
      expect(() => merge(text)).to.throw(message)
    })
  }
})
