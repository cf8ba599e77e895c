import { expect } from 'chai'
import * as fc from 'fast-check'
import { compareKeys, endOfPrefix } from '../../../../cli/service/key-prefix.ts'
import { buildScanRequest } from '../../../../cli/commands/scan.ts'
import { buildBatchBody } from '../../../../cli/load/batch-writer.ts'
import { formatRejection, parseReportLine } from '../../../../cli/load/error-report.ts'
import { keyOf, parseKeyRule } from '../../../../cli/load/key-rule.ts'
import { readLines } from '../../../../cli/load/line-reader.ts'
import type { RawDocument } from '../../../../cli/load/raw-document.ts'
import { buildPackageDocument, cutUtf8 } from '../../../../cli/load/package-document.ts'

describe('line reader', () => {
  it('finds the same lines however the bytes are cut', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll(/[\r\n\ufeff]/g, ''))),
      fc.integer({ min: 1, max: 9 }),
      async (lines, size) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\r\n`).join(''))
        const found: string[] = []
        for await (const line of readLines(chunksOf(bytes, size))) found.push(line.bytes.toString())
        expect(found).to.deep.equal(lines)
      },
    )
    await fc.assert(property)
  })

  it('reads a last line without its end', async () => {
    const found: string[] = []
    for await (const { bytes } of readLines(chunksOf(Buffer.from('a\n\nb'), 2))) {
      found.push(bytes.toString())
    }

    expect(found).to.deep.equal(['a', '', 'b'])
  })

  it('skips a line beyond the limit in bounded memory, and continues after it', async () => {
    const mebibyte = Buffer.alloc(1024 * 1024, 'x')
    async function* chunks(): AsyncGenerator<Uint8Array> {
      for (let count = 0; count < 65; count += 1) yield mebibyte
      yield Buffer.from('\nnext\n')
    }

    const found: RawDocument[] = []
    for await (const line of readLines(chunks())) found.push(line)

    expect(found[0]).to.include({
      line: 1,
      problem: 'the line is longer than 64 MiB, the most that one request may hold',
    })
    expect(found[0]?.bytes.length).to.equal(0)
    expect(found[1]).to.deep.equal({ line: 2, bytes: Buffer.from('next') })
  })
})

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

function find(options: { key?: string; template?: string }, text: string): unknown {
  const result = keyOf(parseKeyRule(options), JSON.parse(text), text)
  return result.kind === 'key' ? result.key : result
}

describe('key rule', () => {
  it('takes the field "id" unless told otherwise', () => {
    expect(find({}, '{"id":"a"}')).to.equal('a')
    expect(find({ key: 'k' }, '{"k":7}')).to.equal('7')
  })

  it('follows a path into objects, but prefers a field with a dot in its name', () => {
    expect(find({ key: 'a.b' }, '{"a":{"b":"in"}}')).to.equal('in')
    expect(find({ key: 'a.b' }, '{"a":{"b":"in"},"a.b":"out"}')).to.equal('out')
  })

  it('keeps every digit of an integer', () => {
    expect(find({}, '{"id":-12345678901234567890}')).to.equal('-12345678901234567890')
  })

  for (const text of ['{}', '{"id":null}', '{"id":true}', '{"id":1.5}', '{"id":{}}', '{"id":""}']) {
    it(`finds no key in ${text}`, () => {
      expect(find({}, text)).to.have.property('kind', 'problem')
    })
  }

  it('does not mistake inherited properties for fields', () => {
    expect(find({ key: 'constructor.name' }, '{}')).to.have.property('kind', 'problem')
  })

  it('fills a template', () => {
    expect(find({ template: '{a}/x/{b.c}' }, '{"a":"1","b":{"c":2}}')).to.equal('1/x/2')
  })

  for (const template of ['', 'fixed', '{}', '{a']) {
    it(`refuses the template "${template}"`, () => {
      expect(() => parseKeyRule({ template })).to.throw('--key-template')
    })
  }
})

describe('error report', () => {
  it('gives back key and bytes as they were', () => {
    const property = fc.property(
      fc.record({
        line: fc.nat(),
        key: fc.option(fc.string({ unit: 'binary' }), { nil: undefined }),
        error: fc.string({ unit: 'binary' }),
        code: fc.string(),
      }),
      fc.dictionary(fc.string(), fc.jsonValue()),
      (head, document) => {
        const bytes = Buffer.from(JSON.stringify(document, undefined, 1).replaceAll('\n', ' '))
        const line = formatRejection({ ...head, bytes, isJson: true }).subarray(0, -1)

        const reported = parseReportLine(JSON.parse(line.toString()), line)

        expect(reported?.key).to.equal(head.key)
        expect(reported?.bytes.toString()).to.equal(bytes.toString())
      },
    )
    fc.assert(property)
  })

  it('gives back the text of an invalid line', () => {
    const head = { line: 1, key: undefined, error: 'e', code: 'c' }
    const line = formatRejection({ ...head, bytes: Buffer.from('{"a":'), isJson: false })

    const reported = parseReportLine(JSON.parse(line.toString()), line.subarray(0, -1))

    expect(reported?.bytes.toString()).to.equal('{"a":')
  })

  for (const text of [
    '{"line":1}',
    '{"line":1,"key":"a","error":"e","code":"c","document":{},"more":1}',
    '{"line":"1","key":"a","error":"e","code":"c","document":{}}',
    '{"line":1, "key":"a","error":"e","code":"c","document":{}}',
    '{"line":1,"key":"a","error":"e","code":"c","text":{}}',
  ]) {
    it(`treats ${text} as an ordinary document`, () => {
      expect(parseReportLine(JSON.parse(text), Buffer.from(text))).to.equal(undefined)
    })
  }
})

describe('batch body', () => {
  it('is JSON around the untouched documents', () => {
    const body = buildBatchBody([
      { line: 1, key: 'a"b', json: Buffer.from('{ "n": 1.0 }') },
      { line: 2, key: 'c', json: Buffer.from('{}') },
    ])

    expect(body.toString()).to.equal('{"inserts":{"a\\"b":{ "n": 1.0 },"c":{}}}')
  })
})

describe('end of a prefix', () => {
  it('lies behind every key with the prefix, and before every greater key without it', () => {
    const text = fc.string({ unit: 'binary' }).filter((value) => value.isWellFormed())
    fc.assert(
      fc.property(text, text, (prefix, rest) => {
        const end = endOfPrefix(prefix)
        if (end === undefined) return
        expect(compareKeys(prefix + rest, end)).to.be.lessThan(0)
        const isBetween = compareKeys(rest, prefix) >= 0 && compareKeys(rest, end) < 0
        expect(isBetween).to.equal(rest.startsWith(prefix))
      }),
    )
  })

  it('steps over the surrogates, and past the last character', () => {
    expect(endOfPrefix('a\ud7ff')).to.equal('a\ue000')
    expect(endOfPrefix('a\u{10ffff}')).to.equal('b')
    expect(endOfPrefix('\u{10ffff}')).to.equal(undefined)
    expect(endOfPrefix('')).to.equal(undefined)
  })
})

describe('scan request', () => {
  it('is empty without options', () => {
    expect(buildScanRequest({})).to.deep.equal({})
  })

  it('asks for the part of the prefix between the ends', () => {
    expect(buildScanRequest({ prefix: 'b', from: 'a', to: 'bm' })).to.deep.equal({
      from: 'b',
      inclusive_from: true,
      to: 'bm',
      exclusive_to: true,
    })
  })
})

describe('package document', () => {
  const size = { files: 2, bytes: 10 }

  it('takes the fields of a manifest in all of their shapes', () => {
    const manifest = {
      name: '@a/b',
      version: '1.0.0',
      author: { name: 'Ann', email: 'ann@example.org' },
      license: { type: 'MIT' },
      repository: 'x',
      keywords: ['k', 7],
      dependencies: { c: '1' },
      devDependencies: { d: '1', e: '1' },
      bin: './cli.js',
      engines: { node: '>=20', bad: 1 },
    }

    expect(buildPackageDocument(manifest, { readme: undefined, size })).to.deep.equal({
      name: '@a/b',
      version: '1.0.0',
      keywords: ['k'],
      license: 'MIT',
      author: 'Ann',
      repository: 'x',
      dependencies: ['c'],
      dev_dependencies: 2,
      peer_dependencies: 0,
      engines: { node: '>=20' },
      bin: ['b'],
      files: 2,
      bytes: 10,
    })
  })

  it('leaves the address of an author out', () => {
    const document = buildPackageDocument(
      { author: 'Ann Bee <ann@example.org> (https://example.org)' },
      { readme: undefined, size },
    )

    expect(document['author']).to.equal('Ann Bee')
  })

  it('cuts between characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (text, bytesMax) => {
        const cut = cutUtf8(text, bytesMax)
        expect(Buffer.byteLength(cut)).to.be.at.most(bytesMax)
        expect(text.startsWith(cut)).to.equal(true)
      }),
    )
  })
})
