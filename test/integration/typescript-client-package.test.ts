// The client as others install it: packed, unpacked into a project of its own, and used there by plain
// JavaScript, and by TypeScript that has nothing of this repository.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode } from '../../node/main.ts'

const run = promisify(execFile)
const ROOT = path.resolve(import.meta.dirname, '../..')
const CLIENT = path.join(ROOT, 'clients/typescript')

const PROGRAM = `
import { StoreClient } from 'quarry-client/store'
import { NotFoundError } from 'quarry-client/errors'

const store = new StoreClient({ baseUrl: process.argv[2] })
await store.createTable('books')
await store.batchWrite('books', { inserts: { a: { title: 'Sea charts' } }, sync_level: 'full_text' })
const found = await store.queryTable('books', { full_text_search: { match: 'sea', field: 'title' } })
const lines = []
for await (const line of store.scanTable('books', { fields: ['title'] })) lines.push(line)
const missing = await store.getTable('none').catch((error) => error instanceof NotFoundError)
console.log(JSON.stringify({ hits: found.hits.total, lines, missing }))
`

/** What the types let pass, and what they refuse. */
const TYPED = `
import { StoreClient } from 'quarry-client/store'
import { InferenceClient } from 'quarry-client/inference'
import { ConflictError } from 'quarry-client/errors'

export async function use(store: StoreClient, inference: InferenceClient): Promise<string> {
  const { hits } = await store.queryTable('books', {
    full_text_search: { must: { conjuncts: [{ match: 'sea', field: 'title', operator: 'and' }] } },
    aggregations: { tags: { type: 'terms', field: 'tags' } },
  })
  const title: unknown = hits.hits[0]?._source['title']
  const [vector] = await inference.embed({ model: 'builtin-hash', input: 'sea' })
  const numbers: Float32Array | undefined = vector
  // @ts-expect-error a filter has no such member
  await store.queryTable('books', { filter_query: { matches: 'sea' } })
  // @ts-expect-error an aggregation has no such type
  await store.queryTable('books', { aggregations: { tags: { type: 'median' } } })
  // @ts-expect-error an operation of a transform needs a path
  await store.batchWrite('books', { transforms: [{ key: 'a', operations: [{ op: '$inc' }] }] })
  return new Error('x') instanceof ConflictError ? String(title) : String(numbers)
}
`

describe('the package of the TypeScript client', () => {
  let folder: string

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-client-package-'))
    await run('npm', ['run', 'build'], { cwd: CLIENT })
    await run('npm', ['pack', '--pack-destination', folder], { cwd: CLIENT })
    const target = path.join(folder, 'node_modules/quarry-client')
    await mkdir(target, { recursive: true })
    const [tarball = ''] = (await readdir(folder)).filter((file) => file.endsWith('.tgz'))
    await run('tar', ['-xzf', path.join(folder, tarball), '-C', target, '--strip-components=1'])
    await writeFile(path.join(folder, 'package.json'), '{"type":"module"}')
  })

  after(() => rm(folder, { recursive: true }))

  it('contains the needed files and no others', async () => {
    const files = await readdir(path.join(folder, 'node_modules/quarry-client'), {
      recursive: true,
      withFileTypes: true,
    })
    const names = files.filter((file) => file.isFile()).map(({ name }) => name)

    expect(names).to.include.members(['package.json', 'README.md', 'store-client.js'])
    expect(
      names.filter((name) => !/^(?:package\.json|README\.md)$|\.js$|\.d\.ts$/.test(name)),
    ).to.deep.equal([])
  })

  it('works in plain JavaScript, with a real store', async () => {
    const program = path.join(folder, 'program.js')
    await writeFile(program, PROGRAM)
    const flags = { dataDir: path.join(folder, 'data'), apiPort: '0', healthPort: '0' }
    await using node = await startNode(parseNodeConfig({}, { ...flags, logLevel: 'error' }))

    const { stdout } = await run(process.execPath, [program, node.apiUrl])

    const lines = [{ key: 'a', title: 'Sea charts' }]
    expect(JSON.parse(stdout)).to.deep.equal({ hits: 1, lines, missing: true })
  })

  it('has types that follow the contract', async () => {
    await writeFile(path.join(folder, 'typed.ts'), TYPED)
    const options = ['--strict', '--noEmit', '--module', 'nodenext', '--lib', 'esnext,dom']
    const tsc = path.join(ROOT, 'node_modules/.bin/tsc')

    const failure = await run(tsc, [...options, 'typed.ts'], { cwd: folder }).then(
      () => '',
      (error: { stdout?: string }) => error.stdout ?? 'tsc did not run',
    )

    expect(failure).to.equal('')
  })
})
