import { expect } from 'chai'
import * as fc from 'fast-check'
import { parseColumnTypes } from '../../../../cli/load/csv-columns.ts'
import { CsvReader } from '../../../../cli/load/csv-rows.ts'
import type { CsvOptions } from '../../../../cli/load/csv-rows.ts'
import { detectFormat, parseDelimiter, refuseForeign } from '../../../../cli/load/input-format.ts'
import type { InputFacts } from '../../../../cli/load/input-format.ts'
import { readJsonValues } from '../../../../cli/load/json-values.ts'
import { DOCUMENT_BYTES_MAX } from '../../../../cli/load/raw-document.ts'
import type { RawDocument } from '../../../../cli/load/raw-document.ts'

type Found = readonly [line: number, text: string, problem?: string]

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function collect(documents: AsyncIterable<RawDocument>): Promise<Found[]> {
  const found: Found[] = []
  for await (const { line, bytes, problem } of documents) {
    found.push(problem === undefined ? [line, bytes.toString()] : [line, bytes.toString(), problem])
  }
  return found
}

const valuesOf = (text: string, size = 1000): Promise<Found[]> =>
  collect(readJsonValues(chunksOf(Buffer.from(text), size)))

async function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no failure',
    (error: unknown) => String(error),
  )
}

describe('JSON values', () => {
  it('are the unchanged elements of an array, however the bytes are cut', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())),
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom(undefined, 2, '\t'),
      async (documents, size, indent) => {
        const found = await valuesOf(JSON.stringify(documents, undefined, indent), size)

        expect(found.map(([, text]) => JSON.parse(text))).to.deep.equal(
          JSON.parse(JSON.stringify(documents)),
        )
      },
    )
    await fc.assert(property)
  })

  it('know the line in which they begin', async () => {
    const text = '\n[\n  {"a": "x,]\\"}"},\n\n  {"b":\n 2} , 3\n]\n'

    expect(await valuesOf(text, 1)).to.deep.equal([
      [3, '{"a": "x,]\\"}"}'],
      [5, '{"b":\n 2} '],
      [6, '3\n'],
    ])
  })

  it('may be objects one after the other, also pretty-printed ones', async () => {
    expect(await valuesOf('{\n "a": [1]\n}\n{"b":2}{"c":3}\n', 2)).to.deep.equal([
      [1, '{\n "a": [1]\n}'],
      [4, '{"b":2}'],
      [4, '{"c":3}'],
    ])
  })

  it('include invalid elements, as the text between two commas', async () => {
    const found = await valuesOf('[{"a":1} {"b":2}, nonsense, }{, ], {"c":3}]')

    expect(found.map(([, text]) => text.trim())).to.deep.equal([
      '{"a":1} {"b":2}',
      'nonsense',
      '}{, ]',
      '{"c":3}',
    ])
  })

  for (const text of ['[{"a":1}', '[{"a":1},{"b"', '{"a":"x']) {
    it(`say that ${text} is cut short`, async () => {
      expect(await failureOf(valuesOf(text))).to.contain('ends within its JSON, in line 1')
    })
  }

  it('skip an element beyond the limit in bounded memory, and continue behind it', async () => {
    const mebibyte = Buffer.alloc(1024 * 1024, 'x')
    async function* chunks(): AsyncGenerator<Buffer> {
      yield Buffer.from('["')
      for (let bytes = 0; bytes <= DOCUMENT_BYTES_MAX; bytes += mebibyte.length) yield mebibyte
      yield Buffer.from('",{"next":1}]')
    }

    const found = await collect(readJsonValues(chunks()))

    expect(found[0]).to.have.length(3)
    expect(found[0]?.[2]).to.contain('longer than 64 MiB')
    expect(found[1]).to.deep.equal([1, '{"next":1}'])
  })
})

describe('CSV rows', () => {
  const OPTIONS: CsvOptions = { delimiter: ',', types: new Map(), keyFields: ['id'] }

  const rowsOf = (text: string, options: Partial<CsvOptions> = {}, size = 1000): Promise<Found[]> =>
    collect(new CsvReader({ ...OPTIONS, ...options }).rows(chunksOf(Buffer.from(text), size)))

  it('are documents of text, with the content of quoted cells', async () => {
    const text = 'id,title,note\r\n01,"Sea, ""charts""",\r\n2,"two\nlines",""\r\n'

    for (const size of [1, 7, 1000]) {
      expect(await rowsOf(text, {}, size)).to.deep.equal([
        [2, '{"id":"01","title":"Sea, \\"charts\\""}'],
        [3, '{"id":"2","title":"two\\nlines","note":""}'],
      ])
    }
  })

  it('hold values of the named types, with every digit', async () => {
    const types = parseColumnTypes('price:number,sold:boolean,tags:json')
    const text = 'id,price,sold,tags\n1,12345678901234567890.10,TRUE,"[""a"", 1]"\n2,,,\n'

    expect(await rowsOf(text, { types })).to.deep.equal([
      [2, '{"id":"1","price":12345678901234567890.10,"sold":true,"tags":["a", 1]}'],
      [3, '{"id":"2"}'],
    ])
  })

  it('keep their text where they do not fit the header or the types', async () => {
    const types = parseColumnTypes('price:number')
    const text = 'id,price\n1,"12,50"\n2\n3,1,2\n4,5\n'

    expect(await rowsOf(text, { types })).to.deep.equal([
      [2, '1,"12,50"', 'column price: "12,50" is not of type number'],
      [3, '2', 'the row has 1 cells, but the header has 2'],
      [4, '3,1,2', 'the row has 3 cells, but the header has 2'],
      [5, '{"id":"4","price":5}'],
    ])
  })

  it('may hold quotes in the middle of a cell', async () => {
    expect(await rowsOf('id,size\n1,5" pipe\n')).to.deep.equal([
      [2, '{"id":"1","size":"5\\" pipe"}'],
    ])
  })

  const headers: Readonly<Record<string, RegExp>> = {
    'title\n1\n': /no column "id" for the key: the columns are title; choose one with --key/,
    'id,,c\n1,2,3\n': /column 2 has no name/,
    'id,a,a\n1,2,3\n': /the column "a" twice/,
  }
  for (const [text, said] of Object.entries(headers)) {
    it(`are refused below the header ${JSON.stringify(text.split('\n')[0])}`, async () => {
      expect(await failureOf(rowsOf(text))).to.match(said)
    })
  }

  it('are refused when a type names a missing column', async () => {
    const types = parseColumnTypes('prize:number')

    expect(await failureOf(rowsOf('id,price\n', { types }))).to.contain(
      '--types: no column "prize"',
    )
  })

  it('are refused when a quote is never closed, or when they are not UTF-8', async () => {
    const latin1 = Buffer.from('id,a\n1,caf\u00e9\n', 'latin1')
    const reader = new CsvReader(OPTIONS)

    expect(await failureOf(rowsOf('id,a\n1,b\n2,"c\n'))).to.match(/is not CSV: .* at line 3/)
    expect(await failureOf(collect(reader.rows(chunksOf(latin1, 100))))).to.contain('not UTF-8')
  })

  it('report columns that look like numbers and are text', async () => {
    const reader = new CsvReader(OPTIONS)
    await collect(reader.rows(chunksOf(Buffer.from('id,n,zip,t\n1,1.5,01234,x\n2,,5,y\n'), 100)))

    expect(reader.numericColumns).to.deep.equal(['n'])
  })
})

describe('types of columns', () => {
  it('stand behind the last colon', () => {
    expect([...parseColumnTypes('a:b:number, c:json')]).to.deep.equal([
      ['a:b', 'number'],
      ['c', 'json'],
    ])
  })

  for (const text of ['', 'price', ':number', 'price:float']) {
    it(`are not "${text}"`, () => {
      expect(() => parseColumnTypes(text)).to.throw('--types')
    })
  }
})

const refuse = (head: string) => (): void =>
  refuseForeign('a b.parquet', Buffer.from(head, 'latin1'))

describe('the format of an input', () => {
  const NOTHING = { path: undefined, format: undefined, delimiter: undefined }
  const cases: readonly (readonly [Partial<InputFacts>, head: string, format: string])[] = [
    [{}, '{"id":1}\n{"id":2}\n', 'ndjson'],
    [{}, '{"id":\n', 'ndjson'],
    [{}, '', 'ndjson'],
    [{}, '\n  [\n', 'json'],
    [{}, '[{"id":1}]', 'json'],
    [{}, '{\n  "id": 1\n}\n', 'json'],
    [{}, 'id,title\n1,a\n', 'csv ,'],
    [{}, 'id;title, subtitle;year\n', 'csv ;'],
    [{}, '"id","the, title"\n', 'csv ,'],
    [{}, 'id\ttitle\n', 'csv \t'],
    [{}, 'nonsense\n', 'ndjson'],
    [{ path: 'a.csv' }, 'id\n1\n', 'csv ,'],
    [{ path: 'a.CSV.gz' }, '"a;b"|c\n', 'csv |'],
    [{ path: 'a.tsv' }, 'id,x\ty\n', 'csv \t'],
    [{ path: 'a.json' }, '{"id":1}\n', 'ndjson'],
    [{ path: 'a.jsonl.zst' }, 'a,b', 'ndjson'],
    [{ path: 'a.ndjson' }, '[', 'json'],
    [{ path: 'a.csv', format: 'ndjson' }, '[', 'ndjson'],
    [{ format: 'tsv' }, 'a,b', 'csv \t'],
    [{ format: 'csv', delimiter: ':' }, 'a:b,c', 'csv :'],
  ]
  for (const [facts, head, expected] of cases) {
    it(`${JSON.stringify(facts)} ${JSON.stringify(head)} is ${JSON.stringify(expected)}`, () => {
      const found = detectFormat({ ...NOTHING, ...facts, head: Buffer.from(head) })

      const told = found.format === 'csv' ? `csv ${found.delimiter}` : found.format
      expect(told).to.equal(expected)
    })
  }

  it('may be unreadable, and is then refused with a remedy', () => {
    expect(refuse('PAR1\x15')).to.throw(
      `duckdb -c "COPY (FROM 'a b.parquet') TO '/dev/stdout' (FORMAT json)" | quarry load TABLE -`,
    )
    expect(refuse('PK\x03\x04')).to.throw('export the sheet as CSV')
    expect(refuse('\xff\xfei\x00')).to.throw('iconv -f UTF-16')
    expect(refuse('{"a"')).to.not.throw()
  })

  it('has a delimiter of one character', () => {
    expect([';', '\\t', 'tab'].map(parseDelimiter)).to.deep.equal([';', '\t', '\t'])
    for (const text of ['', ',,', '"', '\n']) {
      expect(() => parseDelimiter(text)).to.throw('--delimiter')
    }
  })
})
