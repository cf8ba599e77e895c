// System calls of the journal that fail under the real process. Needs root and strace.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { segmentFileName } from '../../node/journal/journal-format.ts'
import { countTo, FOUR_SHARDS, SHARD_PREFIXES } from '../support/loads/load.ts'
import { ConnectionLost, StoreClient } from '../support/servers/store-client.ts'
import { StoreProcess } from '../support/processes/store-process.ts'
import { failing, type SyscallFault } from '../support/processes/syscall-faults.ts'

/** EX_SOFTWARE, see lib/process/server-process.ts. */
const EXIT_INVARIANT_BROKEN = 70
const CLIENTS = 4
const WRITES_MAX = 2000
/** As many numbers as attempts fail: each attempt takes the next one. */
const REFUSALS = 8
const LONG_TEXT = 'x'.repeat(500_000)

interface Written {
  readonly acknowledged: Set<string>
  readonly refused: Set<string>
}

describe('a journal whose system calls fail', () => {
  let folder: string
  let dataDir: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-faults-'))
    dataDir = path.join(folder, 'data')
  })

  afterEach(async () => {
    await rm(folder, { recursive: true })
  })

  const segment = (number: number): string => path.join(dataDir, 'journal', segmentFileName(number))

  function start(fault: SyscallFault): Promise<StoreProcess> {
    return StoreProcess.start({ dataDir, under: failing(fault) })
  }

  for (const error of ['EIO', 'ENOSPC'] as const) {
    for (const from of [1, 3]) {
      it(`ends the process when a durable write fails with ${error}, from call ${from}`, async () => {
        // A batch with entries is a vector; the zeros of an allocation are not.
        const fault = { calls: ['pwritev'], error, files: [segment(1)], from }
        await using store = await start(fault)
        using client = new StoreClient(store.api)
        await client.createTable('docs', FOUR_SHARDS)

        const written = await writeUntilLost(client)
        const { exitCode, log } = await store.ended

        expect(exitCode, log).to.equal(EXIT_INVARIANT_BROKEN)
        expect(log).to.include('the process ends').and.include('journal could not be written')
        if (from > 1) expect(written.acknowledged.size).to.be.greaterThan(0)
        await expectFound(dataDir, written)
      })
    }
  }

  it('refuses writes while there is no room for a segment, and accepts them when there is', async () => {
    const files = countTo(REFUSALS).map((index) => segment(index + 2))
    await using store = await start({ calls: ['pwrite64'], error: 'ENOSPC', files, from: 1 })
    using client = new StoreClient(store.api)
    await client.createTable('docs', FOUR_SHARDS)
    const written = { acknowledged: new Set<string>(), refused: new Set<string>() }

    for (const index of countTo(WRITES_MAX)) {
      const isOver = written.refused.size > 0 && written.acknowledged.has(`a/${index - 1}`)
      if (isOver) break
      await writeOne({ client, key: `a/${index}`, written, text: LONG_TEXT })
    }

    expect(written.refused.size).to.be.greaterThan(1)
    await writeOne({ client, key: 'u/after', written })
    expect(written.acknowledged).to.include('u/after')
    await expectDocuments(client, written)
    await store.kill()
    await expectFound(dataDir, written)
  })
})

interface OneWrite {
  readonly client: StoreClient
  readonly key: string
  readonly written: Written
  readonly text?: string
}

async function writeOne({ client, key, written, text = '' }: OneWrite): Promise<void> {
  const body = { inserts: { [key]: { n: 1, text } } }
  const answer = await client.send('POST', '/api/v1/tables/docs/batch', body)
  expect(answer.status, answer.text).to.be.oneOf([201, 507])
  if (answer.status === 201) written.acknowledged.add(key)
  else written.refused.add(key)
}

/** A few clients write until the connection breaks; what was under way is neither. */
async function writeUntilLost(client: StoreClient): Promise<Written> {
  const written = { acknowledged: new Set<string>(), refused: new Set<string>() }
  const write = async (prefix: string): Promise<void> => {
    for (const index of countTo(WRITES_MAX)) {
      const key = `${prefix}/${index}`
      const body = { inserts: { [key]: { n: 1 } } }
      const { status } = await client.send('POST', '/api/v1/tables/docs/batch', body)
      if (status !== 201) return
      written.acknowledged.add(key)
    }
  }
  await Promise.all(
    SHARD_PREFIXES.slice(0, CLIENTS).map((prefix) =>
      write(prefix).catch((error: unknown) => {
        if (!(error instanceof ConnectionLost)) throw error
      }),
    ),
  )
  return written
}

/** After a restart without faults. */
async function expectFound(dataDir: string, written: Written): Promise<void> {
  await using store = await StoreProcess.start({ dataDir })
  using client = new StoreClient(store.api)
  await expectDocuments(client, written)
  await writeOne({ client, key: 'o/restarted', written })
  expect(written.acknowledged).to.include('o/restarted')
}

async function expectDocuments(client: StoreClient, written: Written): Promise<void> {
  const keys = (await client.scan('docs', { fields: ['n'] })).map(({ key }) => key)
  expect(keys).to.include.members([...written.acknowledged])
  expect(keys.filter((key) => written.refused.has(key))).to.deep.equal([])
}
