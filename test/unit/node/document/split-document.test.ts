import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { parseTableWrites } from '../../../../node/document/batch-body.ts'
import { splitDocument } from '../../../../node/document/split-document.ts'

const split = (json: string) => {
  const { json: body, embeddings } = runAtOnce(splitDocument(Buffer.from(json)))
  return [body.toString(), embeddings?.toString()]
}

describe('splitDocument', () => {
  const cases: readonly (readonly [string, string, string | undefined])[] = [
    ['{}', '{}', undefined],
    ['{"a":1,"b":2}', '{"a":1,"b":2}', undefined],
    ['{"_embeddings":{"v":[1]}}', '{}', '{"v":[1]}'],
    ['{"_embeddings":null,"a":1}', '{"a":1}', 'null'],
    ['{"a":1,"_embeddings":{}}', '{"a":1}', '{}'],
    ['{"a":1,"_embeddings":{},"b":[2]}', '{"a":1,"b":[2]}', '{}'],
    ['{"a":{"_embeddings":1},"b":2}', '{"a":{"_embeddings":1},"b":2}', undefined],
    ['{"\\u005fembeddings":{"v":null},"a":1}', '{"a":1}', '{"v":null}'],
  ]
  for (const [document, body, embeddings] of cases) {
    it(`divides ${document}`, () => {
      expect(split(document)).to.deep.equal([body, embeddings])
    })
  }

  for (const name of ['_chunks', '_summaries']) {
    it(`refuses ${name}, before and behind _embeddings`, () => {
      for (const document of [`{"${name}":1}`, `{"_embeddings":{},"a":1,"${name}":{}}`]) {
        expect(() => split(document)).to.throw(`${name} is made by the store; leave it out`)
      }
    })
  }

  it('leaves of any document what a parser leaves', () => {
    const documents = fc.dictionary(
      fc.constantFrom('a', 'b', 'c d', '_embeddings', '_x', 'ä'),
      fc.jsonValue({ maxDepth: 2 }),
    )
    fc.assert(
      fc.property(documents, (document) => {
        const { _embeddings, ...rest } = document
        const [body = '', embeddings] = split(JSON.stringify(document))
        expect(body).to.equal(JSON.stringify(rest))
        expect(embeddings).to.equal(JSON.stringify(_embeddings))
      }),
    )
  })
})

const inserts = (body: string) => parseTableWrites('t', Buffer.from(body)).writes.inserts

describe('the documents of a body', () => {
  it('come without their vectors, which stand beside them', () => {
    const [first, second] = inserts(
      '{"inserts":{"a":{"n": 1, "_embeddings": {"v": [1, 2]}},"b":{"_embeddings":{}}}}',
    )

    expect(first?.json.toString()).to.equal('{"n":1}')
    expect(first?.embeddings?.toString()).to.equal('{"v":[1,2]}')
    expect(second?.json.toString()).to.equal('{}')
    expect(second?.embeddings?.toString()).to.equal('{}')
  })

  it('keep members of these names that lie deeper', () => {
    const [insert] = inserts('{"inserts":{"a":{"n":{"_embeddings":1,"_chunks":2}}}}')

    expect(insert?.json.toString()).to.equal('{"n":{"_embeddings":1,"_chunks":2}}')
    expect(insert?.embeddings).to.equal(undefined)
  })

  it('are refused with a field that the store makes', () => {
    expect(() => inserts('{"inserts":{"a":{"_chunks":{}}}}')).to.throw(
      'inserts["a"]: _chunks is made by the store',
    )
  })

  it('cannot be given vectors by a transform', () => {
    const operations = [
      '{"op":"$set","path":"_embeddings.v","value":[1]}',
      '{"op":"$unset","path":"$._embeddings"}',
      '{"op":"$rename","path":"a","value":"_chunks.x"}',
    ]
    for (const operation of operations) {
      const body = `{"transforms":[{"key":"k","operations":[${operation}]}]}`
      expect(() => inserts(body)).to.throw('is no part of the document')
    }
  })
})
