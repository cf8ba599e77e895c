import { existsSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { refusal, ServiceDouble } from './cli-service-double.ts'
import { ImpatientClock, runCommand } from './cli-session.ts'
import type { CliRun } from './cli-session.ts'

describe('the reports of quarry load', () => {
  let service: ServiceDouble
  let folder: string
  let report: string

  beforeEach(async () => {
    service = await ServiceDouble.open()
    service.tables.set('books', new Map())
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-cli-reports-'))
    report = path.join(folder, 'books.errors.ndjson')
    service.intervene = ({ body }) =>
      body.includes('bad') ? refusal(400, 'INVALID_ARGUMENT', 'no') : undefined
  })

  afterEach(async () => {
    await service[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  function load(stdin: string, ...more: string[]): Promise<CliRun> {
    const args = ['load', 'books', '--errors', report, ...more]
    return runCommand(args, { url: service.url, stdin }, new ImpatientClock())
  }

  function loadReport(): Promise<CliRun> {
    return load('', report)
  }

  const numbered = (number: number): string => path.join(folder, `books.${number}.errors.ndjson`)

  it('are kept when a later load rejects documents, too', async () => {
    await load('{"id":"bad 1"}')
    await load('{"id":"bad 2"}')
    const run = await load('{"id":"bad 3"}')

    expect(await readFile(report, 'utf8')).to.contain('"bad 3"')
    expect(await readFile(numbered(1), 'utf8')).to.contain('"bad 1"')
    expect(await readFile(numbered(2), 'utf8')).to.contain('"bad 2"')
    expect(run.stderr).to.contain(
      `the rejected documents of an earlier load are now in ${numbered(2)}`,
    )
  })

  it('are renamed when a later load rejects nothing', async () => {
    await load('{"id":"bad 1"}')

    const run = await load('{"id":"good"}', '--json')

    expect(run.exitCode).to.equal(0)
    expect(existsSync(report)).to.equal(false)
    expect(await readFile(numbered(1), 'utf8')).to.contain('"bad 1"')
    expect(JSON.parse(run.stdout)).to.include({
      errors_file: null,
      earlier_errors_file: numbered(1),
    })
  })

  it('are removed when all of their documents are loaded', async () => {
    await load('{"id":"bad 1"}\n{"id":"bad 2"}')
    service.intervene = () => undefined

    const run = await loadReport()

    expect(run.exitCode, run.stderr).to.equal(0)
    expect(service.table('books').size).to.equal(2)
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('shrink to the documents that are still refused', async () => {
    await load('{"id":"bad 1"}\n{"id":"worse bad"}')
    service.intervene = ({ body }) =>
      body.includes('worse') ? refusal(400, 'INVALID_ARGUMENT', 'no') : undefined

    await loadReport()

    const lines = (await readFile(report, 'utf8')).trimEnd().split('\n')
    expect(lines).to.have.length(1)
    expect(lines[0]).to.contain('worse')
    expect(await readdir(folder)).to.deep.equal([path.basename(report)])
  })

  it('stay whole when the load of them is stopped', async () => {
    await load('{"id":"bad 1"}\n{"id":"bad 2"}\n')
    const before = await readFile(report, 'utf8')
    service.intervene = ({ body }) => {
      if (body.includes('bad 1')) return refusal(400, 'INVALID_ARGUMENT', 'no')
      return body.includes('bad') ? refusal(503, 'UNAVAILABLE', 'stopping') : undefined
    }

    const run = await load('', report, '--batch-size', '1', '--concurrency', '1')

    expect(run.stderr).to.contain('stopping')
    expect(await readFile(report, 'utf8')).to.equal(before)
    expect(await readdir(folder)).to.deep.equal([path.basename(report)])
  })

  it('do not overwrite a file of documents that has their name', async () => {
    const documents = '{"id":"good"}\n{"id":"bad"}\n'
    await writeFile(report, documents)

    await loadReport()

    expect(await readFile(numbered(1), 'utf8')).to.equal(documents)
    expect(await readFile(report, 'utf8')).to.contain('"key":"bad"')
  })

  it('are explained when they cannot be written', async () => {
    await rm(folder, { recursive: true })

    const run = await load('{"id":"bad 1"}')
    await mkdir(folder)

    expect(run.exitCode).to.equal(1)
    expect(run.stderr).to.match(
      /^error: cannot write .*ENOENT.*; choose another file .* --errors$/m,
    )
  })

  it('do not take the place of a device or a directory', async () => {
    // A link, so that a load that did replace it would only lose the link.
    await symlink('/dev/zero', report)
    const device = await load('{"id":"bad 1"}')
    const stays = (await lstat(report)).isSymbolicLink()
    const directory = await load('{"id":"bad 1"}', '--errors', folder)

    expect(device.exitCode).to.equal(2)
    expect(device.stderr).to.contain('is no regular file: name a file')
    expect(stays).to.equal(true)
    expect(directory.stderr).to.contain('is a directory: name a file')
    expect(service.seen).to.deep.equal([])
  })

  it('are not begun for a directory, which is refused', async () => {
    const run = await runCommand(['load', 'books', folder], service)

    expect(run.exitCode).to.equal(2)
    expect(run.stderr).to.match(/^error: .* is a directory: name a file .*\n$/)
    expect(service.seen).to.deep.equal([])
  })
})
