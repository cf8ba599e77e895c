import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect } from 'chai'
import { refusal, ServiceDouble } from './cli-service-double.ts'
import { ImpatientClock, runCommand } from './cli-session.ts'

function indexBehind(documents: number) {
  const status = { documents_behind: documents, documents_set_aside: 0, error: '' }
  return { config: { name: 'words' }, status }
}

describe('quarry load', () => {
  let service: ServiceDouble
  let folder: string

  beforeEach(async () => {
    service = await ServiceDouble.open()
    service.tables.set('books', new Map())
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-cli-load-'))
  })

  afterEach(async () => {
    await service[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  async function file(name: string, content: string | Uint8Array): Promise<string> {
    const place = path.join(folder, name)
    await writeFile(place, content)
    return place
  }

  const errorsOf = (): string[] => ['--errors', path.join(folder, 'errors.ndjson')]

  it('passes documents through with every digit and every space', async () => {
    const document = '{ "id":"a",  "big":12345678901234567890, "small":1.10 }'
    const input = await file('in.ndjson', `${document}\r\n\n`)

    const run = await runCommand(['load', 'books', input], service)

    expect(run.exitCode, run.stderr).to.equal(0)
    expect(service.table('books').get('a')).to.equal(document)
  })

  it('names its option --create when the table is missing', async () => {
    const run = await runCommand(['load', 'none'], { url: service.url, stdin: '{"id":"a"}' })

    expect(run.exitCode).to.equal(1)
    expect(run.stderr).to.contain(
      'no table none; to create it, run this command again with --create',
    )
  })

  it('keeps integer keys beyond 2^53 apart', async () => {
    const stdin = '{"id":9007199254740993}\n{"id":9007199254740992}\n'

    await runCommand(['load', 'books'], { url: service.url, stdin })

    expect([...service.table('books').keys()]).to.have.members([
      '9007199254740993',
      '9007199254740992',
    ])
  })

  for (const [extension, compress] of [
    ['gz', gzipSync],
    ['zst', zstdCompressSync],
  ] as const) {
    it(`decompresses .${extension} files`, async () => {
      const input = await file(`in.ndjson.${extension}`, compress(Buffer.from('{"id":"a"}\n')))

      const run = await runCommand(['load', 'books', input], service)

      expect(run.exitCode, run.stderr).to.equal(0)
      expect(service.table('books').get('a')).to.equal('{"id":"a"}')
    })
  }

  it('explains a compressed file that is cut short', async () => {
    const whole = gzipSync(Buffer.from('{"id":"a"}\n'.repeat(1000)))
    const input = await file('cut.ndjson.gz', whole.subarray(0, whole.length - 12))

    const run = await runCommand(['load', 'books', input], service)

    expect(run.exitCode).to.equal(1)
    expect(run.stderr).to.contain('cannot decompress')
  })

  it('loads the other documents of a batch that is refused', async () => {
    service.intervene = ({ body }) =>
      body.includes('"bad"') ? refusal(400, 'INVALID_ARGUMENT', 'no') : undefined
    const lines = Array.from({ length: 100 }, (_, at) => `{"id":"${at === 37 ? 'bad' : at}"}`)

    const run = await runCommand(['load', 'books', '-', ...errorsOf()], {
      url: service.url,
      stdin: lines.join('\n'),
    })

    expect(run.exitCode).to.equal(1)
    expect(service.table('books').size).to.equal(99)
    expect(await readFile(path.join(folder, 'errors.ndjson'), 'utf8')).to.equal(
      '{"line":38,"key":"bad","error":"no","code":"INVALID_ARGUMENT","document":{"id":"bad"}}\n',
    )
  })

  it('loads the documents of an error report under the keys that they had', async () => {
    const stdin = '{"isbn":"x", "n":12345678901234567890}\n'
    service.intervene = ({ method }) =>
      method === 'POST' ? refusal(400, 'INVALID_ARGUMENT', 'not yet') : undefined
    await runCommand(['load', 'books', '--key', 'isbn', ...errorsOf()], { url: service.url, stdin })
    service.intervene = () => undefined

    const run = await runCommand(['load', 'books', path.join(folder, 'errors.ndjson')], service)

    expect(run.exitCode, run.stderr).to.equal(0)
    expect(service.table('books').get('x')).to.equal(stdin.trimEnd())
  })

  it('reports lines that are not documents, with their text', async () => {
    const stdin = '{"id":\n[1]\n{"name":"no key"}\n{"id":"good"}\n'

    const run = await runCommand(['load', 'books', ...errorsOf()], { url: service.url, stdin })
    const report = await readFile(path.join(folder, 'errors.ndjson'), 'utf8')

    expect(run.exitCode).to.equal(1)
    expect(run.stderr).to.contain('3 documents rejected')
    expect(service.table('books').size).to.equal(1)
    expect(report.split('\n')[0]).to.match(/^\{"line":1,.*"text":"\{\\"id\\":"\}$/)
    expect(report.split('\n')[2]).to.contain('--key FIELD')
  })

  it('writes the same report again when no document was repaired', async () => {
    const report = path.join(folder, 'errors.ndjson')
    const stdin = '{"id":\n[1]\n{"name":"no key"}\n'
    await runCommand(['load', 'books', '--errors', report], { url: service.url, stdin })
    const first = await readFile(report, 'utf8')

    const run = await runCommand(['load', 'books', report, '--errors', report], service)

    expect(run.exitCode).to.equal(1)
    expect(await readFile(report, 'utf8')).to.equal(first)
  })

  it('leaves no report when all documents were loaded', async () => {
    await runCommand(['load', 'books', ...errorsOf()], { url: service.url, stdin: '{"id":"a"}' })

    expect(existsSync(path.join(folder, 'errors.ndjson'))).to.equal(false)
  })

  it('repeats a request under the same idempotency key until it is answered', async () => {
    const answers = [
      refusal(503, 'OVERLOADED', 'busy'),
      'hang up' as const,
      refusal(429, 'OVERLOADED', 'slower'),
    ]
    service.intervene = ({ path: asked }) =>
      asked.endsWith('/batch') ? answers.shift() : undefined

    const run = await runCommand(
      ['load', 'books'],
      { url: service.url, stdin: '{"id":"a"}' },
      new ImpatientClock(),
    )
    const batches = service.seen.filter((request) => request.path.endsWith('/batch'))

    expect(run.exitCode, run.stderr).to.equal(0)
    expect(batches).to.have.length(4)
    expect(new Set(batches.map(({ idempotencyKey }) => idempotencyKey)).size).to.equal(1)
    expect(batches[0]?.idempotencyKey).to.match(/^[\w-]{32,}$/)
  })

  it('waits as long as the service asks for', async () => {
    const answers = [{ ...refusal(503, 'OVERLOADED', 'busy'), headers: { 'retry-after': '7' } }]
    service.intervene = ({ path: asked }) =>
      asked.endsWith('/batch') ? answers.shift() : undefined
    const clock = new ImpatientClock()

    await runCommand(['load', 'books'], { url: service.url, stdin: '{"id":"a"}' }, clock)

    expect(clock.sleptMs).to.deep.equal([7000])
  })

  it('stops and names the line when the service stays unreachable', async () => {
    service.intervene = ({ path: asked }) =>
      asked.endsWith('/batch') ? refusal(503, 'UNAVAILABLE', 'stopping') : undefined

    const run = await runCommand(
      ['load', 'books', '--json'],
      { url: service.url, stdin: '{"id":"a"}' },
      new ImpatientClock(),
    )

    expect(run.exitCode).to.equal(1)
    expect(JSON.parse(run.stdout)).to.include({ loaded: 0, complete: false })
    expect(JSON.parse(run.stderr)).to.include({ code: 'UNAVAILABLE' })
  })

  it('ends when searches find what was loaded', async () => {
    const behind = [7, 3, 0]
    service.intervene = ({ method, path: asked }) =>
      method === 'GET' && asked.endsWith('/indexes')
        ? { status: 200, body: JSON.stringify([indexBehind(behind.shift() ?? 0)]) }
        : undefined
    const clock = new ImpatientClock()

    const run = await runCommand(
      ['load', 'books'],
      { url: service.url, stdin: '{"id":"a"}' },
      clock,
    )

    expect(run.exitCode).to.equal(0)
    expect(run.stderr).to.equal('')
    expect(behind).to.deep.equal([])
    expect(clock.sleptMs).to.have.length(2)
  })

  it('does not wait for searches with --no-wait', async () => {
    await runCommand(['load', 'books', '--no-wait'], { url: service.url, stdin: '{"id":"a"}' })

    expect(service.seen.filter(({ path: asked }) => asked.endsWith('/indexes'))).to.deep.equal([])
  })

  it('does not wait for parked documents, which no time brings', async () => {
    const parked = { ...indexBehind(4).status, enrichment: { parked: 4 } }
    service.intervene = ({ method, path: asked }) =>
      method === 'GET' && asked.endsWith('/indexes')
        ? { status: 200, body: JSON.stringify([{ ...indexBehind(4), status: parked }]) }
        : undefined
    const clock = new ImpatientClock()

    await runCommand(['load', 'books'], { url: service.url, stdin: '{"id":"a"}' }, clock)

    expect(clock.sleptMs).to.deep.equal([])
  })

  it('says which index stands still, and why', async () => {
    const index = indexBehind(5)
    const stuck = { ...index, status: { ...index.status, error: 'the model is away' } }
    service.intervene = ({ method, path: asked }) =>
      method === 'GET' && asked.endsWith('/indexes')
        ? { status: 200, body: JSON.stringify([stuck]) }
        : undefined

    const run = await runCommand(
      ['load', 'books'],
      { url: service.url, stdin: '{"id":"a"}' },
      new ImpatientClock(),
    )

    expect(run.exitCode).to.equal(0)
    expect(run.stderr).to.contain(
      'searches of index "words" lack 5 documents as yet: the model is away',
    )
  })

  it('keeps the last line of a key, however many requests run at once', async () => {
    const stdin = Array.from({ length: 300 }, (_, at) => `{"id":"k${at % 3}","at":${at}}`).join(
      '\n',
    )

    const args = ['load', 'books', '--batch-size', '2', '--concurrency', '8']
    await runCommand(args, { url: service.url, stdin })

    expect([...service.table('books').values()].toSorted()).to.deep.equal([
      '{"id":"k0","at":297}',
      '{"id":"k1","at":298}',
      '{"id":"k2","at":299}',
    ])
  })

  it('creates the table when asked to, and only then', async () => {
    const setting = { url: service.url, stdin: '{"id":"a"}' }

    const refused = await runCommand(['load', 'new'], setting)
    const created = await runCommand(['load', 'new', '--create'], setting)

    expect(refused.exitCode).to.equal(1)
    expect(refused.stderr).to.contain('no table new')
    expect(created.exitCode).to.equal(0)
    expect(service.table('new').size).to.equal(1)
  })

  it('makes keys from a template', async () => {
    const stdin = '{"country":"no","place":{"city":"Moss"}}'

    const args = ['load', 'books', '--key-template', '{country}/{place.city}']
    await runCommand(args, { url: service.url, stdin })

    expect([...service.table('books').keys()]).to.deep.equal(['no/Moss'])
  })

  it('loads installed packages, scoped and nested ones too', async () => {
    const modules = path.resolve(import.meta.dirname, '../../node_modules')

    const run = await runCommand(['load', 'books', '--npm', modules], service)
    const keys = [...service.table('books').keys()]
    const chai = JSON.parse(
      service.table('books').get(keys.find((key) => key.startsWith('chai@'))!)!,
    )

    expect(run.exitCode, run.stderr).to.equal(0)
    expect(keys.some((key) => key.startsWith('@types/'))).to.equal(true)
    expect(chai).to.include({ name: 'chai', license: 'MIT' })
    expect(chai.files).to.be.greaterThan(5)
    expect(chai.readme).to.be.a('string')
  })
})
