import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { NodeIdentity } from '../../../../../node/cluster/node-identity.ts'
import { awaitControlPlane } from '../../../../../node/cluster/recovery/await-control-plane.ts'
import { ControlPlaneMemory } from '../../../../../node/cluster/recovery/control-plane-memory.ts'
import { recoverCluster } from '../../../../../node/cluster/recovery/control-plane-recovery.ts'
import {
  RECOVERED_KEY,
  REFUSING_PREFIX,
  encodeRecovered,
  encodeRefusing,
} from '../../../../../node/cluster/recovery/recovery-records.ts'
import {
  IDENTITY_KEY,
  configurationKey,
  decodeConfiguration,
  encodeConfiguration,
  encodeIdentity,
  encodeNode,
  nodeKey,
} from '../../../../../node/controller/core/records/cluster-codec.ts'
import type { Coordination } from '../../../../../node/coordination/coordination.ts'
import { EmbeddedCoordination } from '../../../../../node/coordination/embedded-coordination.ts'
import type { ShardConfiguration } from '../../../../../node/replication/core/configuration.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { until } from '../../../../support/until.ts'

const CLUSTER = { name: 'library', id: 'c1' }
const PATH = 't/00000000000000aa'
const CATALOG = '/catalog/'

const CONFIGURATION: ShardConfiguration = {
  revision: 9,
  epoch: 3,
  leader: { node: 'a', incarnation: 1 },
  replicas: ['a', 'b'],
  inSync: [
    { node: 'a', incarnation: 1 },
    { node: 'b', incarnation: 1 },
  ],
  eligible: [],
  minInSync: 2,
  operation: 'o',
}

function newStore(): Coordination {
  return new EmbeddedCoordination(new MemoryKvStore(), systemClock)
}

async function put(store: Coordination, key: string, value: Uint8Array): Promise<void> {
  await store.commit({ when: [], changes: [{ type: 'put', key, value }] })
}

/** A control plane with the cluster, two nodes and a shard. */
async function newPlane(epoch: number): Promise<Coordination> {
  const plane = newStore()
  await put(plane, IDENTITY_KEY, encodeIdentity(CLUSTER))
  for (const id of ['a', 'b']) {
    const record = { id, zone: '', state: 'serving', incarnation: 1, operation: 'o' } as const
    await put(plane, nodeKey(id), encodeNode(record))
  }
  await put(plane, CATALOG + PATH, Buffer.from('{}'))
  await put(plane, configurationKey(PATH), encodeConfiguration({ ...CONFIGURATION, epoch }))
  return plane
}

interface StartOptions {
  readonly plane: Coordination
  /** That of the control plane before the start. */
  readonly revision: number
  readonly identity: NodeIdentity
  readonly promised: number
}

class Start {
  readonly memory: ControlPlaneMemory
  isOver = false
  readonly done: Promise<void>
  readonly #stop = new AbortController()

  readonly #with: StartOptions

  constructor(memory: ControlPlaneMemory, options: StartOptions) {
    const { plane, identity, promised } = options
    this.memory = memory
    this.#with = options
    const known = { coordination: plane, memory, identity, promisedOf: () => promised }
    const waiting = { clock: systemClock, log: silentLog, signal: this.#stop.signal }
    this.done = awaitControlPlane(known, waiting).then(() => void (this.isOver = true))
    this.done.catch(() => undefined)
  }

  /** Until its report is there, and none of an earlier start. */
  async reported(): Promise<void> {
    const { identity, plane, revision } = this.#with
    const key = REFUSING_PREFIX + identity.nodeId
    await until(async () => ((await plane.get(key))?.modRevision ?? 0) > revision)
  }

  async end(): Promise<void> {
    this.#stop.abort(new Error('the test is over'))
    await this.done.catch(() => undefined)
  }
}

describe('the control plane as a node that starts sees it', () => {
  let directory: string
  let local: Coordination
  let identity: NodeIdentity

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-recovery-'))
    local = newStore()
    identity = await NodeIdentity.open({ path: directory, id: 'a' })
    await identity.joined(CLUSTER)
  })

  afterEach(async () => {
    await rm(directory, { recursive: true, force: true })
  })

  async function start(plane: Coordination, promised = 0): Promise<Start> {
    const { revision } = await plane.list('/')
    return new Start(await ControlPlaneMemory.open(local), { plane, revision, identity, promised })
  }

  it('is believed when it is as new as what the node has seen, or newer', async () => {
    const plane = await newPlane(3)
    const memory = await ControlPlaneMemory.open(local)
    await memory.see({ revision: 2, registered: 1 })

    await (
      await start(plane, 3)
    ).done

    const { revision } = await plane.list('/')
    expect((await ControlPlaneMemory.open(local)).seen).to.include({ revision, refusal: '' })
  })

  const older: Readonly<Record<string, (memory: ControlPlaneMemory) => Promise<number>>> = {
    'its revision is smaller': async (memory) => {
      await memory.see({ revision: 1_000_000 })
      return 0
    },
    'it lacks an epoch that a replica has promised': async () => 4,
    'it lacks a life of the node': async (memory) => {
      await memory.see({ registered: 2 })
      return 0
    },
    'it has an older configuration of a shard': async (memory) => {
      // As `--bump-revision` of etcd's tools leaves it: the store is ahead, and the keys are as they were.
      await memory.see({ revision: 1, registered: 1 })
      await memory.remember(PATH, { ...CONFIGURATION, revision: 1000, replicas: ['a', 'c'] })
      return 3
    },
  }
  for (const [what, know] of Object.entries(older)) {
    it(`is refused when ${what}, also after another start, until it was recovered`, async () => {
      const plane = await newPlane(3)
      const memory = await ControlPlaneMemory.open(local)
      await memory.remember(PATH, { ...CONFIGURATION, revision: 1, epoch: 3, replicas: ['a', 'c'] })
      const first = await start(plane, await know(memory))
      await first.reported()
      await first.end()
      await memory.remember(PATH, { ...CONFIGURATION, epoch: 5, replicas: ['a', 'c'] })

      const again = await start(plane, 7)
      await again.reported()
      expect(again.isOver).to.equal(false)
      const order = { coordination: plane, shardPrefix: CATALOG }
      const early = await errorOf(() => recoverCluster({ ...order, without: [] }))
      expect(String(early)).to.contain('b, c')
      const recovery = await recoverCluster({ ...order, without: ['b', 'c'] })
      await again.done

      expect(recovery.shards).to.deep.equal([
        { path: PATH, epoch: 8, from: 'a', replicas: ['a', 'c'], inSync: ['a', 'b'] },
      ])
      const entry = await plane.get(configurationKey(PATH))
      const stored = entry && decodeConfiguration(entry.value, entry.modRevision)
      expect(stored).to.include({ epoch: 8, leader: undefined })
      expect(again.memory.seen).to.include({ refusal: '', recovery: 1 })
    })
  }

  for (const recovered of [0, 1]) {
    it(`is believed by nobody while another node refuses it, after ${recovered} recoveries`, async () => {
      const plane = await newPlane(3)
      await put(plane, RECOVERED_KEY, encodeRecovered(recovered))
      await (await ControlPlaneMemory.open(local)).see({ recovery: recovered })
      const refusing = await start(plane, 9)
      await refusing.reported()
      const fresh = await NodeIdentity.open({ path: directory, id: 'b' })
      const memory = await ControlPlaneMemory.open(newStore())

      const { revision } = await plane.list('/')
      const other = new Start(memory, { plane, revision, identity: fresh, promised: 0 })
      await other.reported()

      expect(other.isOver).to.equal(false)
      expect(memory.seen.refusal).to.equal('')
      await recoverCluster({ coordination: plane, shardPrefix: CATALOG, without: [] })
      await Promise.all([refusing.done, other.done])
    })
  }

  it('is not recovered by a report of which pages are missing', async () => {
    const plane = await newPlane(3)
    const refusing = await start(plane, 9)
    await refusing.reported()
    await refusing.end()
    await put(plane, `${REFUSING_PREFIX}a`, encodeRefusing(2))

    const order = { coordination: plane, shardPrefix: CATALOG, without: ['b'] }
    expect(String(await errorOf(() => recoverCluster(order)))).to.contain('no node refuses')
  })

  it('is told again what a node knows when a recovery that ended half way has removed it', async () => {
    const plane = await newPlane(3)
    const refusing = await start(plane, 9)
    await refusing.reported()
    const { revision } = await plane.list('/')

    await plane.commit({ when: [], changes: [{ type: 'delete', key: `${REFUSING_PREFIX}a` }] })

    const key = `${REFUSING_PREFIX}a`
    await until(async () => ((await plane.get(key))?.modRevision ?? 0) > revision)
    await refusing.end()
  })

  it('is not recovered while nobody refuses it', async () => {
    const plane = await newPlane(3)

    const order = { coordination: plane, shardPrefix: CATALOG, without: [] }
    expect(String(await errorOf(() => recoverCluster(order)))).to.contain('no node refuses')
  })
})
