import { expect } from 'chai'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { systemClock } from '../../../../../lib/clock.ts'
import { ServiceError } from '../../../../../lib/errors.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { seededRandom } from '../../../../../lib/random.ts'
import type { PeerHandlers, PeerLink, PeerRequest } from '../../../../../node/peer/peer.ts'
import type { Arrival, ArrivalsOptions } from '../../../../../node/replication/snapshot/arrivals.ts'
import {
  askContentHash,
  receiveSnapshot,
  type ReceiveOptions,
} from '../../../../../node/replication/snapshot/receive-snapshot.ts'
import {
  RECEIVE_LIMITS,
  type SnapshotLimits,
} from '../../../../../node/replication/snapshot/snapshot-limits.ts'
import { snapshotHandlers } from '../../../../../node/replication/snapshot/snapshot-handlers.ts'
import {
  encodeOpen,
  SNAPSHOT_OPERATIONS,
} from '../../../../../node/replication/snapshot/snapshot-messages.ts'
import type { SnapshotSource } from '../../../../../node/replication/snapshot/snapshot-source.ts'
import { contentHashOf } from '../../../../../node/replication/snapshot/content-hash.ts'
import type { KvOp } from '../../../../../node/storage/kv-store.ts'
import { LevelKvStore } from '../../../../../node/storage/level-kv-store.ts'
import { DiskGuard } from '../../../../../node/storage/disk-guard.ts'
import { PeerFixture } from '../../../../support/peer/peer-fixture.ts'
import {
  openMemoryWorldInRealTime,
  openTcpWorld,
  type PeerWorld,
} from '../../../../support/peer/peer-world.ts'
import {
  entriesOf,
  LOG,
  memoryStore,
  POSITION,
  SnapshotWorld,
  storeOps,
} from '../../../../support/worlds/snapshot-world.ts'

const FILES = {
  'text-v0': { manifest: Buffer.from('of the text index'), '1.segment': Buffer.alloc(600_000, 3) },
  'names-v2': { empty: Buffer.alloc(0), 'z.segment': Buffer.from('of the names') },
}

/** About eight pages of entries. */
const OPS = storeOps(2000, 1000)

type Page = (page: Buffer, number: number) => Buffer | readonly Buffer[]

/** Changes the pages on their way: `number` counts all that were sent, in all streams. */
function meddled(handlers: PeerHandlers, change: Page): PeerHandlers {
  const pages = handlers.get(SNAPSHOT_OPERATIONS.pages)
  let number = 0
  async function* handle(request: PeerRequest): AsyncGenerator<Uint8Array> {
    if (pages?.kind !== 'stream') return
    for await (const page of pages.handle(request)) {
      number += 1
      const changed = change(Buffer.from(page), number)
      yield* Buffer.isBuffer(changed) ? [changed] : changed
    }
  }
  return new Map([...handlers, [SNAPSHOT_OPERATIONS.pages, { kind: 'stream', handle }]])
}

interface Setting {
  readonly ops?: readonly KvOp[]
  readonly meddle?: Page
  readonly limits?: Partial<SnapshotLimits>
  readonly arrivals?: Partial<ArrivalsOptions>
}

function describeReceiving(name: string, openWorld: () => PeerWorld): void {
  describe(`receiving a snapshot over ${name}`, () => {
    const peers = new PeerFixture(openWorld)
    let world: SnapshotWorld
    let source: SnapshotSource
    let link: PeerLink
    let options: ReceiveOptions

    beforeEach(async () => {
      world = await SnapshotWorld.open()
    })

    afterEach(async () => {
      await peers.close()
      await world[Symbol.asyncDispose]()
    })

    async function start({ ops = OPS, meddle, limits, arrivals }: Setting = {}): Promise<void> {
      world.replicas.set(LOG, world.replica(await memoryStore(ops), FILES))
      source = await world.source(limits, { clock: peers.world.clock })
      const handlers = snapshotHandlers(source)
      const served = meddle === undefined ? handlers : meddled(handlers, meddle)
      const pair = await peers.pair(served)
      link = pair.link
      options = {
        link,
        wanted: { logId: LOG, atLeast: 0 },
        arrivals: await world.arrivals(arrivals),
        clock: peers.world.clock,
        random: seededRandom(1),
        log: silentLog,
        limits: { ...RECEIVE_LIMITS, retryBaseMs: 20, retryCapMs: 50 },
      }
    }

    function receive(changed: Partial<ReceiveOptions> = {}): Promise<Arrival> {
      const never = new AbortController().signal
      return receiveSnapshot({ ...options, ...changed }, never)
    }

    async function expectArrived(ops: readonly KvOp[] = OPS): Promise<void> {
      const directory = path.join(world.incoming, LOG)
      await using store = await LevelKvStore.open(path.join(directory, 'store'), {
        clock: systemClock,
      })
      expect(await entriesOf(store)).to.deep.equal(await entriesOf(await memoryStore(ops)))
      expect(await world.files(path.join(directory, 'indexes'))).to.deep.equal({
        'names-v2/empty': '',
        'names-v2/z.segment': 'of the names',
        'text-v0/1.segment': FILES['text-v0']['1.segment'].toString('latin1'),
        'text-v0/manifest': 'of the text index',
      })
    }

    async function expectNothingLeft(): Promise<void> {
      expect(await readdir(world.incoming)).to.deep.equal([])
      await peers.world.until(() => source.openCount === 0)
    }

    it('brings the store and the files of the indexes', async () => {
      await start()
      let bytes = 0

      const arrival = await peers.settled(receive({ onBytes: (count) => (bytes += count) }))

      expect(arrival).to.deep.equal({ logId: LOG, position: POSITION })
      await expectArrived()
      expect(bytes).to.equal(source.sentBytes)
      await peers.world.until(() => source.openCount === 0)
    })

    it('brings an empty store', async () => {
      await start({ ops: [] })

      const { position } = await peers.settled(receive())

      expect(position).to.deep.equal({ sequence: 0, epoch: 0, crc: 0 })
      await expectArrived([])
    })

    it('brings entries longer than a page', async () => {
      const ops = storeOps(3, 700_000)
      await start({ ops })

      await peers.settled(receive())

      await expectArrived(ops)
    })

    it('continues after the last whole page when the connection is lost', async () => {
      const numbers: number[] = []
      await start({
        meddle: (page) => {
          numbers.push(page.readUInt32BE(4))
          if (numbers.length === 5 || numbers.length === 9) peers.world.cut()
          return page
        },
      })

      await peers.settled(receive())

      await expectArrived()
      expect(numbers.filter((number) => number === 1)).to.have.length(1)
      expect(new Set(numbers).size).to.equal(Math.max(...numbers))
    })

    const damages: Record<string, Page> = {
      'with a flipped bit': (page, number) => {
        if (number === 3) page[5000] = (page[5000] ?? 0) ^ 4
        return page
      },
      'cut short': (page, number) => (number === 3 ? page.subarray(0, page.length - 1) : page),
      'as good as empty': (page, number) => (number === 3 ? Buffer.alloc(3) : page),
      'left out': (page, number) => (number === 3 ? [] : page),
      'sent twice': (page, number) => (number === 3 ? [page, page] : page),
      reordered: (() => {
        let held: Buffer | undefined
        return (page: Buffer, number: number) => {
          if (number === 3) held = page
          return number === 3 ? [] : number === 4 && held !== undefined ? [page, held] : page
        }
      })(),
    }
    for (const [damage, meddle] of Object.entries(damages)) {
      it(`asks again for a page that came ${damage}`, async () => {
        await start({ meddle })

        await peers.settled(receive())

        await expectArrived()
      })
    }

    it('gives up when every page comes damaged', async () => {
      await start({
        meddle: (page) => {
          page[0] = (page[0] ?? 0) ^ 1
          return page
        },
      })

      const error = await peers.failure(receive())

      expect(error).to.include({ code: 'CORRUPTION' })
      await expectNothingLeft()
    })

    it('begins with another snapshot when the source has closed this one', async () => {
      let isClosed = false
      await start({
        meddle: (page, number) => {
          if (number === 4 && !isClosed) {
            isClosed = true
            void source.closeAll()
          }
          return page
        },
      })

      await peers.settled(receive())

      await expectArrived()
    })

    it('fails when the source dies, and leaves nothing', async () => {
      await start({
        meddle: (page, number) => {
          if (number === 4) peers.world.hole(true)
          return page
        },
      })

      const limits = { ...options.limits, retriesMax: 2, callMs: 300 }
      const error = await peers.failure(receive({ limits }))

      expect(error).to.be.instanceOf(ServiceError)
      expect(await readdir(world.incoming)).to.deep.equal([])
    })

    it('fails when the disk is full, and leaves nothing', async () => {
      let free = 1_200_000
      const statfs = () => ({ blocks: free, bavail: free, bsize: 1 })
      const guard = new DiskGuard({ directory: '/', clock: systemClock, reserveBytes: 0, statfs })
      await start({
        arrivals: {
          openStore: (directory) => LevelKvStore.open(directory, { clock: systemClock, guard }),
        },
        meddle: (page) => {
          free -= page.length
          return page
        },
      })

      const error = await peers.failure(receive())

      expect(error).to.include({ code: 'DISK_FULL' })
      await expectNothingLeft()
    })

    it('fails when the disk has no room for a file of an index', async () => {
      const refusal = new ServiceError('DISK_FULL', 'the disk is full')
      await start({
        arrivals: {
          admit: () => {
            throw refusal
          },
        },
      })

      expect(await peers.failure(receive())).to.equal(refusal)
      await expectNothingLeft()
    })

    it('is refused by a replica that has applied less than is wanted', async () => {
      await start()
      const limits = { ...options.limits, retriesMax: 1 }

      const error = await peers.failure(receive({ limits, wanted: { logId: LOG, atLeast: 71 } }))

      expect(error).to.include({ code: 'UNAVAILABLE' })
      await expectNothingLeft()
    })

    it('is refused by a node without that replica', async () => {
      await start()
      const wanted = { logId: '00000000000000bb', atLeast: 0 }

      expect(await peers.failure(receive({ wanted }))).to.include({ code: 'NOT_FOUND' })
    })

    it('ends with the reason of its signal', async () => {
      const gone = new Error('the replica is dropped')
      const stop = new AbortController()
      await start({
        meddle: (page, number) => {
          if (number === 3) stop.abort(gone)
          return page
        },
      })

      expect(await peers.failure(receiveSnapshot(options, stop.signal))).to.equal(gone)
      await expectNothingLeft()
    })

    it('is not begun by a message that is cut short, too long or no message at all', async () => {
      await start()
      const asked = encodeOpen({ logId: LOG, atLeast: 0 })
      const bodies = [Buffer.alloc(0), asked.subarray(1), Buffer.concat([asked, asked])]
      const call = { lane: 'bulk', timeoutMs: 5000 } as const

      for (const operation of Object.values(SNAPSHOT_OPERATIONS)) {
        for (const body of [...bodies, Buffer.alloc(100_000, 0xff)]) {
          const answer =
            operation === SNAPSHOT_OPERATIONS.pages
              ? Array.fromAsync(link.stream({ operation, body }, call))
              : link.call({ operation, body }, call)
          expect(await peers.failure(answer)).to.include({ code: 'CORRUPTION' })
        }
      }

      expect(source.openCount).to.equal(0)
      expect(peers.world.faults).to.deep.equal([])
    })

    it('answers the content hash of a replica at one log entry', async () => {
      await start()
      const own = await contentHashOf(await memoryStore(OPS))
      const wanted = { logId: LOG, sequence: POSITION.sequence }
      const early = { ...wanted, sequence: POSITION.sequence - 1 }

      const asked = await peers.settled(askContentHash(link, wanted, { timeoutMs: 5000 }))
      const refused = await peers.failure(askContentHash(link, early, { timeoutMs: 5000 }))

      expect(asked).to.deep.equal({ position: POSITION, hash: own.hash })
      expect(refused).to.include({ code: 'UNAVAILABLE' })
    })
  })
}

describeReceiving('a network in memory', openMemoryWorldInRealTime)
describeReceiving('TCP', openTcpWorld)
