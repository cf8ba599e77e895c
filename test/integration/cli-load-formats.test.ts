import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { refusal, ServiceDouble } from './cli-service-double.ts'
import { ImpatientClock, runCommand } from './cli-session.ts'
import type { CliRun } from './cli-session.ts'

describe('the formats of quarry load', () => {
  let service: ServiceDouble
  let folder: string

  beforeEach(async () => {
    service = await ServiceDouble.open()
    service.tables.set('books', new Map())
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-cli-formats-'))
  })

  afterEach(async () => {
    await service[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  async function loadFile(
    name: string,
    content: string | Uint8Array,
    ...more: string[]
  ): Promise<CliRun> {
    const file = path.join(folder, name)
    await writeFile(file, content)
    return runCommand(['load', 'books', file, '--errors', errors(), ...more], service)
  }

  function loadInput(stdin: string, ...more: string[]): Promise<CliRun> {
    const args = ['load', 'books', '--errors', errors(), ...more]
    return runCommand(args, { url: service.url, stdin }, new ImpatientClock())
  }

  const errors = (): string => path.join(folder, 'errors.ndjson')
  const loaded = (): object => Object.fromEntries(service.table('books'))

  it('takes a JSON array, pretty-printed or not, with every digit', async () => {
    const array = '[\n  {\n    "id": "a",\n    "n": 12345678901234567890\n  },\n  {"id": "b"}\n]\n'

    const run = await loadFile('books.json', array)

    expect(run.exitCode, run.stderr).to.equal(0)
    expect(loaded()).to.deep.equal({
      a: '{ "id": "a", "n": 12345678901234567890 }',
      b: '{"id": "b"}',
    })
  })

  it('takes pretty-printed objects from a pipe', async () => {
    await loadInput('{\n  "id": "a"\n}\n{\n  "id": "b"\n}\n')

    expect(loaded()).to.deep.equal({ a: '{ "id": "a" }', b: '{ "id": "b" }' })
  })

  it('takes CSV from a file and from a pipe, compressed or not', async () => {
    const csv = '\ufeffid,title\na,"Sea, charts"\nb,01\n'
    const expected = { a: '{"id":"a","title":"Sea, charts"}', b: '{"id":"b","title":"01"}' }

    await loadFile('books.csv.gz', gzipSync(csv))
    expect(loaded()).to.deep.equal(expected)
    service.table('books').clear()
    await loadFile('packed', gzipSync(csv))
    expect(loaded()).to.deep.equal(expected)
    service.table('books').clear()
    await loadInput(csv)
    expect(loaded()).to.deep.equal(expected)
  })

  it('reports columns of numbers that are text, with the option that makes them numbers', async () => {
    const csv = 'id,price,year\na,1.5,1999\n'
    const hinted = await loadFile('books.csv', csv)
    const typed = await loadFile('books.csv', csv, '--types', 'price:number,year:number')

    expect(hinted.stderr).to.equal(
      'price, year held only numbers and were loaded as text; ' +
        'to load numbers, run it again with --types price:number,year:number\n',
    )
    expect(typed.stderr).to.equal('')
    expect(loaded()).to.deep.equal({ a: '{"id":"a","price":1.5,"year":1999}' })
  })

  it('reports columns of arrays that are text, with the option that makes them arrays', async () => {
    const csv = 'id,tags,note\na,"[""x"",""y""]",[not\nb,[],{}\n'
    const hinted = await loadFile('books.csv', csv)
    const typed = await loadFile('books.csv', csv, '--types', 'tags:json')

    expect(hinted.stderr).to.equal(
      'tags held only arrays or objects and was loaded as text; ' +
        'to load them, run it again with --types tags:json\n',
    )
    expect(typed.stderr).to.equal('')
  })

  it('keeps invalid inputs of any format, and reports the reason of the first', async () => {
    const array = await loadInput('[{"id":"a"},\n{"id":\n},\n[1,\n2]]')
    const report = await readFile(errors(), 'utf8')
    const rows = await loadFile('books.csv', 'id,n\nb,x\nc\n', '--types', 'n:number')
    const rowReport = await readFile(errors(), 'utf8')

    expect([array.exitCode, rows.exitCode]).to.deep.equal([1, 1])
    expect(array.stderr).to.contain(
      'error: 2 documents rejected; the first is in line 2: it is not',
    )
    expect(report.split('\n')[0]).to.contain('"text":"{\\"id\\":\\n}"')
    expect(report.split('\n')[1]).to.contain('"document":[1, 2]}')
    expect(rows.stderr).to.contain('line 2: column n: "x" is not of type number')
    expect(rowReport).to.contain('"text":"b,x"').and.contain('"text":"c"')
  })

  it('names the format of a file that it cannot read, before it sends a request', async () => {
    const run = await loadFile('books.parquet', 'PAR1', '--create')

    expect(run.exitCode).to.equal(2)
    expect(run.stderr).to.contain('books.parquet is Parquet').and.contain('duckdb -c "COPY (FROM')
    expect(service.seen).to.deep.equal([])
  })

  it('refuses a header without a key column, without a report of loaded documents', async () => {
    const run = await loadFile('books.csv', 'isbn,title\n1,a\n')

    expect(run).to.deep.equal({
      exitCode: 2,
      stdout: '',
      stderr:
        'error: no column "id" for the key: the columns are isbn, title; choose one with --key\n',
    })
  })

  it('obeys --format and --delimiter, and refuses options that contradict each other', async () => {
    await loadFile('books.txt', 'id:t\na:b,c\n', '--format', 'csv', '--delimiter', ':')
    const wrong = await loadInput('{}', '--format', 'json', '--types', 'a:number')

    expect(loaded()).to.deep.equal({ a: '{"id":"a","t":"b,c"}' })
    expect(wrong.exitCode).to.equal(2)
    expect(wrong.stderr).to.contain('--types is for CSV, not for json')
  })

  it('reports once that it waits for the server', async () => {
    const answers = [refusal(503, 'OVERLOADED', 'busy'), refusal(503, 'OVERLOADED', 'busy')]
    service.intervene = ({ path: asked }) =>
      asked.endsWith('/batch') ? answers.shift() : undefined

    const run = await loadInput('{"id":"a"}')

    expect(run.exitCode).to.equal(0)
    expect(run.stderr).to.equal('waiting for the server: busy\n')
  })

  it('names the first line that was rejected, whichever batch was answered first', async () => {
    service.intervene = ({ body }) =>
      body.includes('bad') ? refusal(400, 'INVALID_ARGUMENT', 'no such field') : undefined
    const lines = Array.from(
      { length: 40 },
      (_, at) => `{"id":"${at % 7 === 3 ? 'bad' : ''}${at}"}`,
    )

    const run = await loadInput(lines.join('\n'), '--batch-size', '3')
    const json = await loadInput(lines.join('\n'), '--json')

    expect(run.stderr).to.contain(
      '6 documents rejected; the first is in line 4, key "bad3": no such',
    )
    expect(JSON.parse(json.stdout).first_rejection).to.deep.equal({
      line: 4,
      key: 'bad3',
      error: 'no such field',
      code: 'INVALID_ARGUMENT',
    })
  })
})
