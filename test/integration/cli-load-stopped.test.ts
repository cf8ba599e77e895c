// Ctrl-C while documents are loaded: what was read is in, and the last lines say so.

import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { CommandFolder } from '../support/processes/quarry-command.ts'
import { ServiceDouble } from './cli-service-double.ts'

const lines = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, at) => `{"id":"k${from + at}"}\n`).join('')

const keys = (count: number): string[] => Array.from({ length: count }, (_, at) => `k${at + 1}`)

describe('quarry load at Ctrl-C', () => {
  let folder: CommandFolder
  let service: ServiceDouble

  beforeEach(async () => {
    folder = await CommandFolder.open()
    service = await ServiceDouble.open()
    service.tables.set('books', new Map())
  })

  afterEach(async () => {
    await folder[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
  })

  /** Resolves when the service has been asked to write so many batches. */
  function batches(count: number): Promise<void> {
    return new Promise((resolve) => {
      let seen = 0
      service.intervene = ({ path }) => {
        if (path.endsWith('/batch') && ++seen === count) resolve()
        return undefined
      }
    })
  }

  const load = (...more: readonly string[]) =>
    folder.quarry(['load', 'books', '--url', service.url, '--batch-size', '4', ...more])

  it('writes what was read, says until which line, and ends although the pipe is open', async () => {
    const asked = batches(2)
    const child = load()
    child.stdin.write(lines(1, 10))
    await asked
    child.kill('SIGINT')
    const [out, err] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ])

    expect(child.exitCode).to.equal(1)
    const [, line = ''] =
      /stopped after line (\d+): every document until there is in books/.exec(err) ?? []
    expect(Number(line)).to.be.within(8, 10)
    expect(out).to.include(`loaded ${line} documents into books `)
    expect(err).to.include('you can load the same input again')
    expect([...service.table('books').keys()]).to.have.members(keys(Number(line)))
  })

  it('tells rejected documents, too', async () => {
    const asked = batches(1)
    const child = load()
    child.stdin.write(`{"no":"key"}\n${lines(1, 4)}`)
    await asked
    child.kill('SIGINT')
    const [, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])

    expect(err).to.include('stopped after line 5: every document until there is loaded or rejected')
    expect(err).to.match(
      /1 document rejected; it is in line 1.*\n.*\n.*load books books\.errors\.ndjson/,
    )
    expect(service.table('books').size).to.equal(4)
  })

  it('has the line in JSON', async () => {
    const asked = batches(1)
    const child = load('--json')
    child.stdin.write(lines(1, 4))
    await asked
    child.kill('SIGINT')
    const [out] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])

    expect(JSON.parse(out)).to.include({ loaded: 4, complete: false, stopped_after_line: 4 })
  })
})
