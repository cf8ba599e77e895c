import { createHash } from 'node:crypto'
import path from 'node:path'
import { expect } from 'chai'
import { encodeEntry } from '../../../../../node/replication/snapshot/entry-stream.ts'
import {
  FIRST_PAGE,
  type SnapshotHeader,
} from '../../../../../node/replication/snapshot/snapshot-messages.ts'
import {
  DamagedPageError,
  encodePage,
  type PageContent,
} from '../../../../../node/replication/snapshot/snapshot-page.ts'
import { SnapshotTarget } from '../../../../../node/replication/snapshot/snapshot-target.ts'
import { readAppliedPosition } from '../../../../../node/shard/replica-snapshot.ts'
import type { KvEntry, KvStore } from '../../../../../node/storage/kv-store.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { POSITION, SnapshotWorld, storeOps } from '../../../../support/worlds/snapshot-world.ts'

const HEADER: SnapshotHeader = {
  id: '00'.repeat(16),
  position: POSITION,
  storeBytes: 100,
  files: [
    { directory: 'a', name: 'one', bytes: 3 },
    { directory: 'a', name: 'none', bytes: 0 },
    { directory: 'b', name: 'two', bytes: 2 },
  ],
}
const STREAM = Buffer.concat(
  storeOps(3, 10).map((op) =>
    encodeEntry([Buffer.from(op.key), Buffer.from(op.type === 'put' ? op.value : [])]),
  ),
)
const ENTRIES: PageContent = { kind: 'entries', bytes: STREAM }
const ONE: PageContent = { kind: 'file', file: 0, bytes: Buffer.from('one') }
const TWO: PageContent = { kind: 'file', file: 2, bytes: Buffer.from('22') }
const END: PageContent = {
  kind: 'end',
  entries: 4,
  contentHash: createHash('sha256').update(STREAM).digest(),
  filesHash: createHash('sha256').update('one22').digest(),
}
const NO_HASH = Buffer.alloc(32)

/** Whole pages that are not those of a snapshot: another node's mistake, or an attack. */
const WRONG: Readonly<Record<string, readonly PageContent[]>> = {
  'no end': [ENTRIES, ONE, TWO],
  'no entries': [ONE, TWO, END],
  'half an entry': [{ ...ENTRIES, bytes: STREAM.subarray(0, -1) }, ONE, TWO, END],
  'another content hash': [ENTRIES, ONE, TWO, { ...END, contentHash: NO_HASH }],
  'another number of entries': [ENTRIES, ONE, TWO, { ...END, entries: 5 }],
  'another hash of files': [ENTRIES, ONE, TWO, { ...END, filesHash: NO_HASH }],
  'no files': [ENTRIES, END],
  'a file that is too short': [ENTRIES, { ...ONE, bytes: Buffer.from('on') }, TWO, END],
  'a file that is too long': [ENTRIES, { ...ONE, bytes: Buffer.from('ones') }, TWO, END],
  'a file twice': [ENTRIES, ONE, TWO, ONE, END],
  'a file that should be empty': [ENTRIES, ONE, { ...TWO, file: 1 }, TWO, END],
  'a file that is not in the header': [ENTRIES, ONE, TWO, { ...TWO, file: 3 }, END],
  'a page behind the end': [ENTRIES, ONE, TWO, END, END],
}

async function takeAll(target: SnapshotTarget, pages: readonly PageContent[]): Promise<void> {
  for (const content of pages) await target.take(encodePage(content, target.mark).bytes)
  await target.finish()
}

describe('a target of a snapshot', () => {
  let world: SnapshotWorld
  let opened: KvStore

  beforeEach(async () => {
    world = await SnapshotWorld.open()
  })

  afterEach(() => world[Symbol.asyncDispose]())

  async function openTarget(header = HEADER, store: KvStore = new MemoryKvStore()) {
    opened = store
    return SnapshotTarget.open({
      header,
      storeDirectory: path.join(world.directory, 'store'),
      indexDirectory: path.join(world.directory, 'indexes'),
      openStore: async () => store,
      readPosition: readAppliedPosition,
      admit: () => undefined,
    })
  }

  it('has every file, also an empty one', async () => {
    const target = await openTarget()

    await takeAll(target, [ENTRIES, ONE, TWO, END])

    const files = { 'a/one': 'one', 'a/none': '', 'b/two': '22' }
    expect(await world.files(path.join(world.directory, 'indexes'))).to.deep.equal(files)
    expect(await errorOf(() => opened.get(Buffer.of(1)))).to.include({ code: 'UNAVAILABLE' })
  })

  for (const [what, pages] of Object.entries(WRONG)) {
    it(`refuses ${what}`, async () => {
      const target = await openTarget()

      expect(await errorOf(() => takeAll(target, pages))).to.include({ code: 'CORRUPTION' })
      await target.close()
    })
  }

  it('refuses a store at another position', async () => {
    const target = await openTarget({ ...HEADER, position: { ...POSITION, epoch: 4 } })

    const error = await errorOf(() => takeAll(target, [ENTRIES, ONE, TWO, END]))

    expect(error).to.include({ code: 'CORRUPTION' })
    await target.close()
  })

  it('refuses a store that does not give back what was written', async () => {
    const target = await openTarget(HEADER, new ForgetfulStore())

    const error = await errorOf(() => takeAll(target, [ENTRIES, ONE, TWO, END]))

    expect(error).to.include({ code: 'CORRUPTION' })
    await target.close()
  })

  it('takes the right page after one that was damaged', async () => {
    const target = await openTarget()
    const page = encodePage(ENTRIES, FIRST_PAGE).bytes
    const damaged = Buffer.from(page)
    damaged[20] = (damaged[20] ?? 0) ^ 1

    expect(await errorOf(() => target.take(damaged))).to.be.instanceOf(DamagedPageError)
    await takeAll(target, [ENTRIES, ONE, TWO, END])
  })

  it('takes nothing after a failure', async () => {
    const target = await openTarget()
    const failure = await errorOf(() => takeAll(target, [ENTRIES, TWO]))

    const page = encodePage(ONE, target.mark).bytes
    expect(await errorOf(() => target.take(page))).to.equal(failure)
    await target.close()
  })
})

/** Gives one value back with a flipped bit, as a damaged disk may. */
class ForgetfulStore extends MemoryKvStore {
  override async *pages(range: object): AsyncGenerator<readonly KvEntry[]> {
    for await (const page of super.pages(range)) {
      yield page.map(([key, value]): KvEntry => {
        const damaged = Buffer.from(value)
        if (key.includes('000001')) damaged[3] = (damaged[3] ?? 0) ^ 2
        return [key, damaged]
      })
    }
  }
}
