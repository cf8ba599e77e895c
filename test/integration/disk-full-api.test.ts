import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, rmdir, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { countTo } from '../support/loads/load.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import type { Answer } from '../support/servers/store-client.ts'
import { StoreProcess } from '../support/processes/store-process.ts'

const MIB = 1024 * 1024
const DISK_MIB = 96
const DOCUMENT_BYTES = 64 * 1024
const BALLAST_CHUNK_BYTES = 256 * 1024
const DOCUMENTS_MAX = (2 * DISK_MIB * MIB) / DOCUMENT_BYTES
const RESUME_POLLS_MAX = 1000
const RESUME_POLL_MS = 20
/** How the disk becomes full: the store's own documents, or a stranger's file. */
const CAUSES = ['documents', 'a file'] as const
const RESERVES = {
  'with a reserve of 16 MiB': 16 * MIB,
  'without a reserve, so that the storage engine meets the end itself': 0,
}

describe('the API on a full disk', function () {
  this.timeout(240_000)

  let mount: string
  let ballast: string
  let store: StoreProcess | undefined
  let client: StoreClient
  let acknowledged: Map<string, string>

  beforeEach(async () => {
    acknowledged = new Map()
    mount = await mkdtemp(path.join(tmpdir(), 'quarry-full-api-'))
    ballast = path.join(mount, 'ballast')
    try {
      run('mount', '-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', mount)
    } catch (error) {
      throw new Error(`this test needs the right to mount a tmpfs at ${mount}`, { cause: error })
    }
  })

  afterEach(async () => {
    client[Symbol.dispose]()
    await store?.kill()
    run('umount', mount)
    await rmdir(mount)
  })

  async function start(reserveBytes: number): Promise<void> {
    const env = { QUARRY_DISK_RESERVE_BYTES: String(reserveBytes) }
    store = await StoreProcess.start({ dataDir: path.join(mount, 'data'), env })
    client = new StoreClient(store.api)
  }

  /** Text that does not compress. */
  async function write(key: string, bytes = DOCUMENT_BYTES): Promise<Answer> {
    const text = randomBytes(bytes / 2).toString('hex')
    const answer = await client.send('POST', '/api/v1/batch', {
      tables: {
        one: { inserts: { [`a/${key}`]: { text }, [`u/${key}`]: { text } } },
        two: { inserts: { [key]: { text } } },
      },
    })
    if (answer.status === 201) acknowledged.set(key, text)
    return answer
  }

  async function writeUntilRefused(): Promise<Answer> {
    for (const index of countTo(DOCUMENTS_MAX)) {
      const answer = await write(`${index}`)
      if (answer.status !== 201) return answer
    }
    return expect.fail('the disk did not become full')
  }

  /** A stranger's file takes what is left. */
  async function fillByFile(): Promise<void> {
    for (const _ of countTo((DISK_MIB * MIB) / BALLAST_CHUNK_BYTES)) {
      const { bavail } = await statfs(mount)
      if (bavail === 0) return
      try {
        await writeFile(ballast, Buffer.alloc(BALLAST_CHUNK_BYTES, 1), { flag: 'a' })
      } catch (error) {
        expect(error).to.include({ code: 'ENOSPC' })
        return
      }
    }
  }

  /** A full disk would stay full if deletions were refused too. */
  async function deleteOne(): Promise<void> {
    const [key] = acknowledged.keys()
    const answer = await client.send('POST', '/api/v1/batch', {
      tables: { one: { deletes: [`a/${key}`, `u/${key}`] }, two: { deletes: [key] } },
    })
    expect(answer.status, answer.text).to.equal(201)
    acknowledged.delete(key ?? '')
  }

  /** Every acknowledged document, whole; and no half of one that was refused. */
  async function expectAllThere(): Promise<void> {
    for (const [key, text] of acknowledged) {
      expect((await client.lookup('two', key)).document, key).to.deep.equal({ text })
    }
    const [one, two] = await Promise.all([client.scan('one'), client.scan('two')])
    const keys = two.map(({ key }) => key)
    const halves = ['a', 'u'].flatMap((prefix) => keys.map((key) => `${prefix}/${key}`))
    expect(one.map(({ key }) => key)).to.have.members(halves)
    expect(keys).to.include.members([...acknowledged.keys()])
  }

  /** Nobody tells the store that there is room again. */
  async function expectResumed(): Promise<void> {
    for (const poll of countTo(RESUME_POLLS_MAX)) {
      const answer = await write(`resumed-${poll}`, 64)
      if (answer.status === 201) return
      expect(answer.status, answer.text).to.be.oneOf([503, 507])
      await systemClock.sleep(RESUME_POLL_MS)
    }
    expect.fail('writes did not resume')
  }

  for (const [name, reserveBytes] of Object.entries(RESERVES)) {
    for (const cause of CAUSES) {
      it(`filled by ${cause}, ${name}: refuses writes, serves reads, resumes, loses nothing`, async () => {
        await writeFile(ballast, Buffer.alloc(40 * MIB, 1))
        await start(reserveBytes)
        await client.createTable('one', { split_keys: ['m'] })
        await client.createTable('two', {})
        for (const index of countTo(50)) await write(`first-${index}`)
        if (cause === 'a file') await fillByFile()

        const refused = await writeUntilRefused()

        expect(refused.status, refused.text).to.equal(507)
        expect(JSON.parse(refused.text)).to.include({ code: 'DISK_FULL' })
        await expectAllThere()
        if (cause === 'documents' && reserveBytes > 0) await deleteOne()

        await rm(ballast)
        await expectResumed()
        await expectAllThere()

        client[Symbol.dispose]()
        await store?.kill()
        await start(reserveBytes)
        await expectAllThere()
        expect((await write('after')).status).to.equal(201)
      })
    }
  }
})

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}
