import { expect } from 'chai'
import { readProduct } from '../../lib/process/product.ts'
import { refusal, ServiceDouble } from './cli-service-double.ts'
import { runCommand } from './cli-session.ts'

const { version } = readProduct()

describe('quarry client commands', () => {
  let service: ServiceDouble

  beforeEach(async () => {
    service = await ServiceDouble.open()
    service.tables.set(
      'books',
      new Map([['book/1', '{"title":"Sea charts","n":12345678901234567890}']]),
    )
  })

  afterEach(() => service[Symbol.asyncDispose]())

  it('lookup prints the bytes of the document, and the version beside it', async () => {
    const run = await runCommand(['lookup', 'books', 'book/1'], service)

    expect(run).to.deep.equal({
      exitCode: 0,
      stdout: '{"title":"Sea charts","n":12345678901234567890}\n',
      stderr: 'version 114890530816000000\n',
    })
  })

  it('lookup --json keeps every digit of a document', async () => {
    const run = await runCommand(['lookup', 'books', 'book/1', '--json'], service)

    expect(run.stdout).to.equal(
      '{"key":"book/1","version":"114890530816000000",' +
        '"document":{"title":"Sea charts","n":12345678901234567890}}\n',
    )
  })

  it('lookup indents documents on a terminal', async () => {
    const setting = { url: service.url, isTty: true, columns: 40 }
    const run = await runCommand(['lookup', 'books', 'book/1'], setting)

    expect(run.stdout).to.equal('{\n  "title": "Sea charts",\n  "n": 12345678901234567890\n}\n')
  })

  it('lookup encodes the key and names the fields', async () => {
    await runCommand(['lookup', 'books', 'a/b c?', '--fields', 'title,author.name'], service)

    expect(service.seen[0]?.path).to.equal(
      '/tables/books/lookup/a%2Fb%20c%3F?fields=title,author.name',
    )
  })

  it('a refusal is one sentence, and exit code 1', async () => {
    const run = await runCommand(['lookup', 'books', 'x'], service)

    expect(run).to.deep.equal({ exitCode: 1, stdout: '', stderr: 'error: no document "x"\n' })
  })

  it('a refusal is an object with --json', async () => {
    const run = await runCommand(['lookup', 'books', 'x', '--json'], service)

    expect(JSON.parse(run.stderr)).to.deep.equal({ error: 'no document "x"', code: 'NOT_FOUND' })
  })

  for (const args of [
    ['nonsense'],
    ['lookup', 'books'],
    ['load', 'books', '--batch-size', '0'],
    ['load', 'books', '--key', 'a', '--key-template', '{b}'],
    ['load', 'books', '/no/such/file'],
    ['scan', 'books', '--filter', '{'],
    ['table', 'drop', 'books'],
    ['status', '--url', 'ftp://x'],
    [],
  ]) {
    it(`"quarry ${args.join(' ')}" is wrong usage`, async () => {
      const run = await runCommand(args, service)

      expect(run.exitCode).to.equal(2)
      expect(run.stderr).to.not.equal('')
      expect(service.seen).to.deep.equal([])
    })
  }

  it('scan copies the lines of the service unchanged into a pipe', async () => {
    const run = await runCommand(['scan', 'books'], service)

    expect(run.stdout).to.equal('{"key":"book/1","title":"Sea charts","n":12345678901234567890}\n')
  })

  it('scan shows a table on a terminal, cut to its width', async () => {
    service.table('books').set('book/2', `{"title":"${'long '.repeat(30)}","n":1}`)
    const run = await runCommand(['scan', 'books', '--fields', 'title,n'], {
      url: service.url,
      isTty: true,
      columns: 60,
    })

    const lines = run.stdout.split('\n')
    expect(lines[0]).to.match(/^KEY {5}TITLE +N$/)
    expect(lines[1]).to.match(/^book\/1 {2}Sea charts +12345678901234567890$/)
    expect(lines[2]).to.match(/^book\/2 {2}long .*… {2}1$/)
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(60)
    expect(lines[3]).to.equal('2 documents')
  })

  it('scan asks for the half-open range of a prefix', async () => {
    await runCommand(['scan', 'books', '--prefix', 'book/', '--limit', '3'], service)

    expect(JSON.parse(service.seen[0]?.body ?? '')).to.deep.equal({
      from: 'book/',
      inclusive_from: true,
      to: 'book0',
      exclusive_to: true,
      limit: 3,
    })
  })

  it('scan turns an error line into an error, after the lines before it', async () => {
    const lines = '{"key":"a"}\n{"error":"disk gone","code":"UNAVAILABLE"}\n'
    service.intervene = () => ({ status: 200, body: lines })

    const run = await runCommand(['scan', 'books'], service)

    expect(run.exitCode).to.equal(1)
    expect(run.stdout).to.equal('{"key":"a"}\n')
    expect(run.stderr).to.contain('the scan was interrupted: disk gone')
  })

  it('scan does not mistake a document with a field "error" for an error', async () => {
    service.intervene = () => ({ status: 200, body: '{"key":"a","error":"fine"}\n' })

    const run = await runCommand(['scan', 'books'], service)

    expect(run.exitCode).to.equal(0)
  })

  it('table list --json prints one value on each line, with every digit', async () => {
    service.intervene = () => ({
      status: 200,
      body: '[\n{"name":"a","schema":{"max":12345678901234567890}},{"name":"b"}]',
    })

    const run = await runCommand(['table', 'list', '--json'], service)

    expect(run.stdout).to.equal(
      '{"name":"a","schema":{"max":12345678901234567890}}\n{"name":"b"}\n',
    )
  })

  it('table list in a pipe cuts nothing', async () => {
    const description = 'long '.repeat(60).trim()
    const body = JSON.stringify([{ name: 'books', description }])
    service.intervene = () => ({ status: 200, body })

    const run = await runCommand(['table', 'list'], service)

    expect(run.stdout).to.contain(description)
  })

  it('table create sends only the settings that were given', async () => {
    const args = ['table', 'create', 'new', '--split-key', 'h', '--split-key', 'q']
    const run = await runCommand(args, service)

    expect(run.stdout).to.equal('created table new with 1 shard\n')
    expect(service.seen[0]?.body).to.equal('{"split_keys":["h","q"]}')
  })

  it('table create asks for replicas, and table get shows them', async () => {
    const replicas = ['--replicas', '5', '--min-in-sync', '3']
    await runCommand(['table', 'create', 'new', ...replicas], service)
    service.intervene = () => ({
      status: 200,
      body: '{"name":"new","replication_factor":5,"min_in_sync":3}',
    })
    const shown = await runCommand(['table', 'get', 'new'], service)

    expect(service.seen[0]?.body).to.equal('{"replication_factor":5,"min_in_sync":3}')
    expect(shown.stdout).to.match(/^replicas +5, writes need 3 in sync$/m)
  })

  it('table create puts the language into the schema', async () => {
    await runCommand(['table', 'create', 'new', '--language', 'english'], service)

    expect(service.seen[0]?.body).to.equal('{"schema":{"language":"english"}}')
  })

  it('table list and get fit a narrow terminal', async () => {
    const setting = { url: service.url, isTty: true, columns: 40 }
    const list = await runCommand(['table', 'list'], setting)
    const get = await runCommand(['table', 'get', 'books'], setting)

    expect(list.stdout).to.contain('books')
    expect(get.stdout).to.contain('(first)')
    for (const line of `${list.stdout}${get.stdout}`.split('\n')) {
      expect(line.length).to.be.at.most(40)
    }
  })

  it('table drop needs --yes without a terminal', async () => {
    const refused = await runCommand(['table', 'drop', 'books'], service)
    const dropped = await runCommand(['table', 'drop', 'books', '--yes'], service)

    expect(refused.stderr).to.contain('--yes')
    expect(dropped.exitCode).to.equal(0)
    expect(service.tables.has('books')).to.equal(false)
  })

  it('table list distinguishes data that is still in the journal from none', async () => {
    const body = JSON.stringify([
      { name: 'small', storage_status: { disk_usage: 0, empty: false } },
      { name: 'unused', storage_status: { disk_usage: 0, empty: true } },
    ])
    service.intervene = () => ({ status: 200, body })

    const run = await runCommand(['table', 'list'], service)

    expect(run.stdout)
      .to.match(/^small .* in journal /m)
      .and.match(/^unused .* empty /m)
    expect(run.stdout).to.not.contain('0 B')
  })

  it('status counts the tables that it lists', async () => {
    const state = { state: 'serving', message: '' }
    const shards = {
      a1: { table: 'books', ...state },
      a2: { table: 'books', ...state },
      b1: { table: '_idempotency', ...state },
    }
    const body = JSON.stringify({ health: 'healthy', message: 'fine', tables: 1, shards })
    service.intervene = () => ({ status: 200, body })

    const run = await runCommand(['status'], service)

    expect(run.stdout).to.contain('1 table (+ 1 internal)')
  })

  it('status hides shards of the internal tables that serve, unless --all asks for them', async () => {
    const state = { state: 'serving', message: '' }
    const shards = {
      a1: { table: 'books', ...state },
      b1: { table: '_idempotency', ...state },
      b2: { table: '_idempotency', state: 'failed', message: 'disk gone' },
    }
    const body = JSON.stringify({ health: 'degraded', message: 'bad', tables: 1, shards })
    service.intervene = () => ({ status: 200, body })

    const some = await runCommand(['status'], service)
    const all = await runCommand(['status', '--all'], service)

    expect(some.stdout).to.contain('a1').and.to.contain('b2').and.not.to.contain('b1')
    expect(all.stdout).to.contain('b1')
  })

  for (const args of [['--version'], ['-V'], ['version']]) {
    it(`"quarry ${args.join(' ')}" prints the version`, async () => {
      const run = await runCommand(args, service)

      expect(run).to.deep.equal({ exitCode: 0, stdout: `quarry ${version}\n`, stderr: '' })
    })
  }

  for (const args of [
    ['--version', '--json'],
    ['version', '--json'],
  ]) {
    it(`"quarry ${args.join(' ')}" prints what runs it, and no commit in a checkout`, async () => {
      const { exitCode, stdout } = await runCommand(args, service)

      expect(exitCode).to.equal(0)
      expect(JSON.parse(stdout)).to.deep.equal({ version, runtime_version: process.version })
    })
  }

  it('delete does not claim that a missing document was deleted', async () => {
    const run = await runCommand(['delete', 'books', 'none'], service)

    expect(run.stdout).to.equal('deleted 1 key from books, if it existed\n')
  })

  it('delete removes several documents in one request', async () => {
    const run = await runCommand(['delete', 'books', 'book/1', 'book/2'], service)

    expect(run.stdout).to.equal('deleted 2 keys from books, as far as they existed\n')
    expect(service.table('books').size).to.equal(0)
  })

  it('text of the service cannot control the terminal', async () => {
    service.intervene = () => refusal(400, 'INVALID_ARGUMENT', 'bad \u001b[2Jkey')

    const run = await runCommand(['status'], service)

    expect(run.stderr).to.equal('error: bad  [2Jkey\n')
  })

  it('an answer that is not JSON is explained', async () => {
    service.intervene = () => ({ status: 200, body: '<html>' })

    const run = await runCommand(['status'], service)

    expect(run.exitCode).to.equal(1)
    expect(run.stderr).to.contain('--url')
  })

  for (const args of [
    ['--help'],
    ['swarm', '--help'],
    ['inference', '--help'],
    ['models', 'pull', '--help'],
    ['demo', '--help'],
    ['load', '--help'],
    ['lookup', '--help'],
    ['help', 'scan'],
    ['query', '--help'],
    ['table', 'create', '--help'],
    ['table', 'drop', '--help'],
    ['index', 'create', '--help'],
    ['index', 'get', '--help'],
  ]) {
    it(`"quarry ${args.join(' ')}" explains within 80 columns`, async () => {
      const run = await runCommand(args, { url: service.url, isTty: true, columns: 80 })

      expect(run.exitCode).to.equal(0)
      expect(run.stdout).to.contain('Usage: quarry')
      for (const line of run.stdout.split('\n')) expect(line.length, line).to.be.at.most(80)
    })
  }
})
