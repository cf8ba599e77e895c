// A journal that cannot be written any more, under the real process: the limit on the size of its files
// is lowered while it runs, so that every write fails.

import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { countTo } from '../support/loads/load.ts'
import { ConnectionLost, StoreClient } from '../support/servers/store-client.ts'
import { StoreProcess } from '../support/processes/store-process.ts'

/** EX_SOFTWARE, see lib/process/server-process.ts. */
const EXIT_INVARIANT_BROKEN = 70

describe('a store whose journal cannot be written', () => {
  let folder: string
  let dataDir: string

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-journal-failure-'))
    dataDir = path.join(folder, 'data')
  })

  afterEach(() => rm(folder, { recursive: true }))

  it('ends its process instead of refusing all writes while it reports that it is healthy (p10)', async () => {
    const acknowledged = countTo(20).map((n) => `k${n}`)
    {
      await using store = await StoreProcess.start({ dataDir })
      using client = new StoreClient(store.api)
      await client.createTable('docs', {})
      for (const key of acknowledged) await client.batch('docs', { inserts: { [key]: { n: 1 } } })
      execFileSync('prlimit', ['--pid', String(store.pid), '--fsize=1:1'])

      const outcome = await client.batch('docs', { inserts: { lost: {} } }).then(
        () => 'acknowledged',
        (error: unknown) => (error instanceof ConnectionLost ? 'lost' : String(error)),
      )
      const { exitCode, log } = await store.ended

      expect(outcome, log).to.match(/^lost$|503/)
      expect(exitCode, log).to.equal(EXIT_INVARIANT_BROKEN)
      expect(log).to.include('the process ends').and.include('journal could not be written')
    }

    await using again = await StoreProcess.start({ dataDir })
    using client = new StoreClient(again.api)
    const keys = (await client.scan('docs')).map(({ key }) => key)

    expect(keys).to.include.members(acknowledged)
  })
})
