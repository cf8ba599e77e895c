import { expect } from 'chai'
import { startApi } from '../contract/api-harness.ts'
import type { Api } from '../contract/api-harness.ts'
import { ServiceDouble } from './cli-service-double.ts'
import { runCommand } from './cli-session.ts'

describe('quarry query', () => {
  let api: Api
  const books = '/api/v1/tables/books'

  before(async () => {
    api = await startApi({ isSearched: true })
    await api.send({ method: 'POST', path: books, body: '{}' })
    const inserts = {
      a: { title: 'Sea charts', tag: 'map', price: 3 },
      b: { title: 'The sea', tag: 'map', price: 9 },
      c: { title: 'Roads', tag: 'way', price: 1 },
    }
    const body = JSON.stringify({ inserts, sync_level: 'full_text' })
    await api.send({ method: 'POST', path: `${books}/batch`, body })
  })

  after(() => api[Symbol.asyncDispose]())

  it('shows hits with their scores, marked words and facets', async () => {
    const args = ['query', 'books', 'sea', '--highlight', 'title', '--facet', 'tag.keyword']

    const { stdout, exitCode } = await runCommand(args, { url: api.url, isTty: true, columns: 80 })

    expect(exitCode).to.equal(0)
    expect(stdout).to.match(/^ +\d\.\d\d {2}b\n {4}title {2}The \*sea\*\n/)
    expect(stdout).to.contain('title  *Sea* charts')
    expect(stdout).to.match(/tag\.keyword\n {2}map +█{24} 2\n/)
    expect(stdout).to.match(/\n2 hits in \d+ ms\n$/)
  })

  it('filters, sorts and limits as its options say', async () => {
    const filter = '{"max":9,"inclusive_max":true,"field":"price"}'
    const order = ['--order-by', '-price', '--limit', '2', '--fields', 'price']

    const args = ['query', 'books', '--filter', filter, ...order]

    const { stdout } = await runCommand(args, { url: api.url })
    expect(stdout).to.match(/b\n {4}\{"price":9\}\n.*a\n {4}\{"price":3\}\n3 hits/)
  })

  it('searches for any typed text with --simple', async () => {
    const found = await runCommand(['query', 'books', 'see char', '--simple'], { url: api.url })
    const url = await runCommand(['query', 'books', 'https://sea', '--simple'], { url: api.url })

    expect(found.stdout).to.match(/a\n {4}\{"title":"Sea charts"/)
    expect(url.exitCode).to.equal(0)
  })

  it('searches the index that its option names', async () => {
    const { stdout } = await runCommand(['query', 'books', '--index', 'full_text_index_v0'], api)
    const { stderr, exitCode } = await runCommand(['query', 'books', '--index', 'notes'], api)

    expect(stdout).to.match(/3 hits/)
    expect(exitCode).to.equal(1)
    expect(stderr).to.contain('no index "notes"; there are full_text_index_v0')
  })

  it('shows what each index gave to merged hits', async () => {
    const places = '/api/v1/tables/places'
    const near = { type: 'embeddings', external: true, dimension: 2 }
    await api.send({ method: 'POST', path: places, body: JSON.stringify({ indexes: { near } }) })
    const inserts = {
      bay: { title: 'Bay', _embeddings: { near: [0, 0] } },
      cape: { title: 'Cape', _embeddings: { near: [0, 1.5] } },
      dune: { title: 'Dune', _embeddings: { near: [3, 0] } },
    }
    const body = JSON.stringify({ inserts, sync_level: 'full_index' })
    await api.send({ method: 'POST', path: `${places}/batch`, body })

    const { stdout } = await runCommand(['query', 'places', '--like', 'bay'], api)
    const both = await runCommand(['query', 'places', 'dune', '--like', 'bay'], api)

    expect(stdout).to.match(
      /^ 0\.0164 {2}cape {2}near 2\.2500\n.*\n 0\.0161 {2}dune {2}near 9\.0000\n/,
    )
    expect(both.stdout).to.match(/^ 0\.0325 {2}dune {2}full_text \d\.\d\d · near 9\.0000\n/)
    expect(both.stdout).to.match(/\n2 hits in/)
  })

  it('turns pages of merged hits within the window of --window', async () => {
    const args = ['query', 'places', '--like', 'bay', '--limit', '1']

    const first = await runCommand([...args, '--window', '2'], api)
    const cursor = /--cursor '(.+)'/.exec(first.stdout)?.[1] ?? ''
    const second = await runCommand([...args, '--cursor', cursor], api)
    const offset = await runCommand([...args, '--offset', '1', '--window', '2'], api)

    expect(first.stdout).to.match(/ cape /)
    expect(second.stdout).to.match(/ dune /)
    expect(offset.stdout).to.match(/ dune /)
  })

  it('asks for thresholds of lists, and for an end before the noise', async () => {
    const bodies: unknown[] = []
    await using service = await ServiceDouble.open()
    service.intervene = ({ body }) => {
      bodies.push(JSON.parse(body))
      const hits = { total: 1, max_score: 1, hits: [] }
      return { status: 200, body: JSON.stringify({ responses: [{ status: 200, took: 1, hits }] }) }
    }
    const ask = (...args: string[]) => runCommand(['query', 'notes', ...args], service)

    await ask(
      'tide',
      '--meaning',
      'tide',
      '--distance-under',
      'a=b=0.5',
      '--min-score',
      'full_text=2',
    )
    await ask('--meaning', 'tide', '--autocut', '1')
    await ask('tide', '--autocut', '2')
    const wrong = await ask('--meaning', 'tide', '--min-score', 'meaning')

    const thresholds = { 'a=b': { distance_under: 0.5 }, full_text: { min_score: 2 } }
    expect(bodies).to.deep.equal([
      {
        full_text_search: { query: 'tide' },
        semantic_search: 'tide',
        merge_config: { thresholds },
      },
      { semantic_search: 'tide', merge_config: { autocut: 1 } },
      { full_text_search: { query: 'tide' }, pruner: { autocut: 2 } },
    ])
    expect(wrong.exitCode).to.equal(2)
    expect(wrong.stderr).to.include('--min-score: give the name of an index and a number')
  })

  it('shows the part of a long text that was found', async () => {
    const matched = {
      index: 'parts',
      chunk: 3,
      start: 90,
      end: 130,
      text: 'high\n  water at noon ',
    }
    const hit = {
      _id: 'a',
      _score: 0.0164,
      _index_scores: { parts: 0.5 },
      _matched: matched,
      _source: {},
    }
    const responses = [{ status: 200, took: 1, hits: { total: 1, max_score: 1, hits: [hit] } }]
    await using service = await ServiceDouble.open()
    service.intervene = () => ({ status: 200, body: JSON.stringify({ responses }) })

    const { stdout } = await runCommand(['query', 'notes', '--meaning', 'tide'], service)

    expect(stdout).to.match(
      /^ 0\.0164 {2}a {2}parts 0\.5000\n {4}parts {2}high water at noon\n1 hit/,
    )
  })

  it('prints the unchanged answer with --json', async () => {
    const { stdout } = await runCommand(['query', 'books', '--limit', '0', '--json'], api)

    expect(JSON.parse(stdout)).to.have.nested.property('responses[0].hits.total', 3)
  })

  it('warns of unknown fields, and shows the phases with --profile', async () => {
    const { stdout } = await runCommand(['query', 'books', 'isbn:7', '--profile'], api)

    expect(stdout).to.contain('warning: no document has a field "isbn"')
    expect(stdout).to.match(/0 hits in \d+ ms · statistics .* · search .* ms/)
  })

  it('suggests a correction when a text finds nothing', async () => {
    const { stdout } = await runCommand(['query', 'books', 'title:chrats sae'], api)
    const found = await runCommand(['query', 'books', 'sea'], api)
    const nothing = await runCommand(['query', 'books', 'zzzzzz'], api)

    expect(stdout).to.match(/^Did you mean: title:charts sea\n0 hits in \d+ ms\n$/)
    expect(found.stdout).to.not.contain('Did you mean')
    expect(nothing.stdout).to.match(/^0 hits in \d+ ms\n$/)
  })

  it('prints suggestions as data with --json', async () => {
    const { stdout } = await runCommand(['query', 'books', 'chrats', '--json'], api)

    expect(JSON.parse(stdout)).to.have.nested.property(
      'responses[0].suggestions[0].words[0].options[0].text',
      'charts',
    )
  })

  it('explains a filter that is not JSON, and a query that does not parse', async () => {
    const filter = await runCommand(['query', 'books', '--filter', '{'], api)
    const query = await runCommand(['query', 'books', 'title:"sea'], api)

    expect([filter.exitCode, query.exitCode]).to.deep.equal([2, 1])
    expect(filter.stderr).to.contain('--filter')
    expect(query.stderr).to.contain('column')
  })
})
