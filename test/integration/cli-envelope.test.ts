import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { startApi } from '../contract/api-harness.ts'
import type { Api } from '../contract/api-harness.ts'
import { ServiceDouble } from './cli-service-double.ts'
import { runCommand } from './cli-session.ts'

// As JSON texts, because parsing would lose digits, the order of members, and `__proto__`.
const DOCUMENTS: Readonly<Record<string, string>> = {
  plain: '{"title":"Sea charts"}',
  'with a member key': '{"key":"mine","title":"kept"}',
  'with the members of an envelope': '{"_key":"mine","_document":{"a":1}}',
  'with those and another': '{"_key":"mine","_document":{"a":1},"error":"no"}',
  'like a line of an error report':
    '{"line":1,"key":"x","error":"e","code":"c","document":{"id":"y"}}',
  'like an error line': '{"error":"no","code":"INTERNAL"}',
  empty: '{}',
  'of numbers':
    '{"n":9007199254740993,"m":-0,"big":123456789012345678901234567890,"d":1.10,"e":1e3}',
  'of odd names': '{"":1,"__proto__":{"a":1},"2":"b","1":"a","a.b":1,"\\u0000":2}',
  'of odd texts': '{"t":"\u2028 \\ud800 \\n \\" } {","u":"日本 😀"}',
  'that is long': JSON.stringify({ key: 'k', body: 'x'.repeat(200_000) }),
  '\u0000"\\\n\t': '{"id":"another"}',
  'with a _timestamp': '{"_timestamp":"2024-01-01T00:00:00Z"}',
  __proto__x: '{"a":[[],{},null,true,"key"]}',
  'ключ/😀?#%': '{"a":{"key":1}}',
  '{"_key":"a"}': '{"b":{}}',
}
const TABLES = '/api/v1/tables'

describe('quarry scan --envelope', () => {
  let api: Api

  before(async () => {
    api = await startApi()
    await api.send({ method: 'POST', path: `${TABLES}/all`, body: '{"num_shards":3}' })
    const members = Object.entries(DOCUMENTS).map(([key, json]) => `${JSON.stringify(key)}:${json}`)
    const body = `{"inserts":{${members.join(',')}}}`
    const { status, body: answer } = await api.send({
      method: 'POST',
      path: `${TABLES}/all/batch`,
      body,
    })
    expect(status, answer).to.equal(201)
  })

  after(() => api[Symbol.asyncDispose]())

  async function scan(table: string, ...options: readonly string[]): Promise<string> {
    const run = await runCommand(['scan', table, ...options], api)
    expect(run.exitCode, run.stderr).to.equal(0)
    return run.stdout
  }

  async function lookup(table: string, key: string): Promise<string> {
    const target = `${TABLES}/${table}/lookup/${encodeURIComponent(key)}`
    return (await api.send({ method: 'GET', path: target })).body
  }

  it('gives back the same table when its lines are loaded, byte by byte', async () => {
    const lines = await scan('all', '--envelope')
    const args = ['load', 'copy', '-', '--create', '--json']
    const load = await runCommand(args, { url: api.url, stdin: lines })
    const again = await scan('copy', '--envelope')

    expect(load.exitCode, load.stderr).to.equal(0)
    expect(again).to.equal(lines)
    for (const [key, json] of Object.entries(DOCUMENTS)) {
      expect(await lookup('all', key), key).to.equal(json)
      expect(await lookup('copy', key), key).to.equal(json)
    }
  })

  it('has the fields that were asked for, and members that indexes keep, in the document', async () => {
    const some = await scan(
      'all',
      '--envelope',
      '--fields',
      'title,key',
      '--prefix',
      'with a member',
    )
    const none = await scan('all', '--envelope', '--fields', 'title', '--prefix', 'empty')
    const special = await scan('all', '--envelope', '--fields', '_embeddings', '--prefix', 'plain')

    expect(some).to.equal(
      '{"_key":"with a member key","_document":{"key":"mine","title":"kept"}}\n',
    )
    expect(none).to.equal('{"_key":"empty","_document":{}}\n')
    expect(JSON.parse(special)).to.have.nested.property('_document')
  })

  it('shows lines on a terminal, too', async () => {
    const args = ['scan', 'all', '--envelope', '--prefix', 'plain']
    const { stdout } = await runCommand(args, { url: api.url, isTty: true })

    expect(stdout).to.equal('{"_key":"plain","_document":{"title":"Sea charts"}}\n')
  })
})

describe('quarry load of envelopes', () => {
  let service: ServiceDouble
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-envelope-'))
    service = await ServiceDouble.open()
    service.tables.set('books', new Map())
  })

  afterEach(async () => {
    await service[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  const load = (stdin: string, ...options: string[]) =>
    runCommand(['load', 'books', '-', ...options], { url: service.url, stdin })

  it('takes the spaces, line ends and escapes of other programs', async () => {
    const pretty = '[\n { "_key" : "a\\u0041\\"" ,\n  "_document" : { "n": 9007199254740993 } }\n]'

    const run = await load(pretty, '--format', 'json')

    expect(run.exitCode, run.stderr).to.equal(0)
    expect([...service.table('books')]).to.deep.equal([['aA"', '{ "n": 9007199254740993 } ']])
  })

  it('loads them as documents when an option says where the key is', async () => {
    await load('{"_key":"a","_document":{}}', '--key', '_key')

    expect([...service.table('books')]).to.deep.equal([['a', '{"_key":"a","_document":{}}']])
  })

  for (const [what, line] of [
    ['a member beside it', '{"_key":"a","_document":{},"id":"own"}'],
    ['a document that is no object', '{"_key":"a","_document":1,"id":"own"}'],
  ] as const) {
    it(`takes an object with ${what} for a document`, async () => {
      await load(line)

      expect([...service.table('books')]).to.deep.equal([['own', line]])
    })
  }

  it('rejects one whose key is empty, or that has two documents', async () => {
    const errors = ['--errors', path.join(folder, 'errors.ndjson')]
    const empty = await load('{"_key":"","_document":{}}', ...errors)
    const twice = await load('{"_key":"a","_document":{},"_document":{"a":1}}', ...errors)

    expect(empty.stderr).to.contain('the key is empty')
    expect(twice.stderr).to.contain('not JSON')
    expect(service.table('books').size).to.equal(0)
  })
})
