import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { ManualClock, systemClock } from '../../lib/clock.ts'
import { silentLog } from '../../lib/log.ts'
import { seededRandom } from '../../lib/random.ts'
import { NodeIdentity } from '../../node/cluster/node-identity.ts'
import { awaitControlPlane } from '../../node/cluster/recovery/await-control-plane.ts'
import { ControlPlaneMemory } from '../../node/cluster/recovery/control-plane-memory.ts'
import { beginRecovery, seeLastRecovery } from '../../node/cluster/recovery/recovery-turn.ts'
import {
  RECOVERED_KEY,
  REFUSING_PREFIX,
  REPORT_PREFIX,
  decodeRecovered,
  encodeRefusing,
  encodeReport,
} from '../../node/cluster/recovery/recovery-records.ts'
import {
  IDENTITY_KEY,
  configurationKey,
  decodeConfiguration,
  encodeConfiguration,
  encodeIdentity,
  encodeNode,
  nodeKey,
  type ShardPath,
} from '../../node/controller/core/records/cluster-codec.ts'
import type { Coordination } from '../../node/coordination/coordination.ts'
import { EmbeddedCoordination } from '../../node/coordination/embedded-coordination.ts'
import type { RecoveryAnswer } from '../../node/steering/cluster-answers.ts'
import { CONTROLLER_CATALOG } from '../../node/steering/controller-catalog.ts'
import { recoverForOperators } from '../../node/steering/recover-for-operators.ts'
import type { ShardConfiguration } from '../../node/replication/core/configuration.ts'
import { MemoryKvStore } from '../../node/storage/memory-kv-store.ts'
import { errorOf } from '../support/error-of.ts'
import { TakenTurns, TurnedCoordination } from '../support/worlds/taken-turns.ts'

const CLUSTER = { name: 'library', id: 'c1' }
const NODES = ['a', 'b'] as const
const PATHS: readonly ShardPath[] = ['t/00', 't/01', 't/02']
/** What replicas have promised, and the restored store does not know. */
const PROMISED = 7
const NEVER = new AbortController().signal

function configuration(epoch: number, revision: number): ShardConfiguration {
  const members = NODES.map((node) => ({ node, incarnation: 1 }))
  const leader = { node: 'a', incarnation: 1 }
  const inSync = { inSync: members, eligible: [], minInSync: 2 }
  return { revision, epoch, leader, replicas: NODES, ...inSync, operation: 'o' }
}

/** A restored store that two nodes refuse. */
async function plant(store: Coordination): Promise<void> {
  const put = (key: string, value: Uint8Array) =>
    store.commit({ when: [], changes: [{ type: 'put', key, value }] })
  await put(IDENTITY_KEY, encodeIdentity(CLUSTER))
  for (const shard of PATHS) {
    await put(CONTROLLER_CATALOG.shardPrefix + shard, Buffer.from('{}'))
    await put(configurationKey(shard), encodeConfiguration(configuration(3, 0)))
  }
  for (const node of NODES) {
    const record = { id: node, zone: '', state: 'serving', incarnation: 1, operation: 'o' } as const
    await put(nodeKey(node), encodeNode(record))
    const shards = PATHS.map((shard) => {
      return { path: shard, promised: PROMISED, configuration: configuration(5, 900) }
    })
    const said = encodeReport({ node, revision: 1000, recovery: 0, shards })
    await put(`${REPORT_PREFIX}${node}/0`, said)
    await put(REFUSING_PREFIX + node, encodeRefusing(1))
  }
}

async function epochsIn(store: Coordination): Promise<ReadonlyMap<ShardPath, number>> {
  const epochs = new Map<ShardPath, number>()
  for (const shard of PATHS) {
    const entry = must(await store.get(configurationKey(shard)), 'a configuration')
    const { epoch, leader } = decodeConfiguration(entry.value, entry.modRevision)
    expect([leader, epoch > PROMISED]).to.deep.equal([undefined, true])
    epochs.set(shard, epoch)
  }
  return epochs
}

/** A sleep is a step, too. */
class TurnedClock extends ManualClock {
  readonly #turns: TakenTurns

  constructor(turns: TakenTurns) {
    super()
    this.#turns = turns
  }

  override sleep(): Promise<void> {
    return this.#turns.take()
  }
}

interface AtOnce {
  readonly count: number
  readonly seed: number
  /** That of the node that starts meanwhile. */
  readonly identity: NodeIdentity
}

/** The recoveries, while node a, which refuses the store, starts once more. */
async function recoveriesAtOnce(
  store: Coordination,
  { count, seed, identity }: AtOnce,
): Promise<readonly PromiseSettledResult<RecoveryAnswer>[]> {
  const turns = new TakenTurns(seededRandom(seed), { holdsUp: true })
  const clock = new TurnedClock(turns)
  const coordination = new TurnedCoordination(store, turns)
  const memory = await ControlPlaneMemory.open(
    new EmbeddedCoordination(new MemoryKvStore(), systemClock),
  )
  await memory.see({ revision: 1_000_000 })
  const recoveries = Array.from({ length: count }, () => async () => {
    await turns.take()
    return recoverForOperators(coordination, { without: [], clock })
  })
  const start = async (): Promise<undefined> => {
    await turns.take()
    const known = { coordination, memory, identity, promisedOf: () => PROMISED }
    await awaitControlPlane(known, { clock, log: silentLog, signal: NEVER })
  }
  const [started, ...settled] = await turns.all<RecoveryAnswer | undefined>([start, ...recoveries])
  expect(started).to.include({ status: 'fulfilled' })
  expect(memory.seen).to.include({ refusal: '', recovery: 1 })
  return settled.map(withAnswer)
}

function withAnswer(
  one: PromiseSettledResult<RecoveryAnswer | undefined>,
): PromiseSettledResult<RecoveryAnswer> {
  return one.status === 'rejected' ? one : { ...one, value: must(one.value, 'an answer') }
}

/** Operators who recover one store at the same time. Each store that is opened is empty. */
export function describeRecoveries(
  name: string,
  { open, histories }: { readonly open: () => Promise<Coordination>; readonly histories: number },
): void {
  describe(`recoveries at once over ${name}`, () => {
    let directory: string
    let identity: NodeIdentity

    beforeEach(async () => {
      directory = await mkdtemp(path.join(tmpdir(), 'quarry-recoveries-'))
      identity = await NodeIdentity.open({ path: directory, id: 'a' })
      await identity.joined(CLUSTER)
    })

    afterEach(async () => {
      await rm(directory, { recursive: true, force: true })
    })

    it('take effect once: one is performed, and the others answer which it was', async function () {
      this.timeout(60_000)
      const first = Number(process.env['QUARRY_TEST_SEED'] ?? 1)
      for (let seed = first; seed < first + histories; seed++) {
        try {
          await using store = await open()
          await plant(store)

          const settled = await recoveriesAtOnce(store, { count: 2 + (seed % 2), seed, identity })

          const answers = settled.map((one) =>
            one.status === 'fulfilled' ? one.value : one.reason,
          )
          expect(answers.map(({ recovery }) => recovery)).to.deep.equal(answers.map(() => 1))
          const performed = answers.filter((one) => one.performed)
          expect(performed.length, 'performed').to.equal(1)
          const told = performed[0].shards.map(
            ({ table_id: table, shard, epoch }: RecoveryAnswer['shards'][number]) => {
              return [`${table}/${shard}`, epoch]
            },
          )
          expect(told, 'what was said').to.deep.equal([...(await epochsIn(store))])
          const left = await store.list('/recovery/')
          // Pages of a report may come behind the end, and mean nothing.
          const kept = left.entries
            .map(({ key }) => key)
            .filter((key) => !key.startsWith(REPORT_PREFIX))
          expect(kept).to.deep.equal(['/recovery/attempt', RECOVERED_KEY])
        } catch (error) {
          throw new Error(`QUARRY_TEST_SEED=${seed}`, { cause: error })
        }
      }
    })

    it('are not held up by one that was killed, and say that another has begun', async function () {
      this.timeout(60_000)
      await using store = await open()
      await plant(store)
      const turns = new TakenTurns(seededRandom(1))
      const clock = new TurnedClock(turns)
      const turned = new TurnedCoordination(store, turns)
      // It begins whenever the other one could write, and does nothing more.
      const overtake = async (): Promise<undefined> => {
        for (;;) {
          const before = await seeLastRecovery(store)
          await beginRecovery(store, before)
          await turns.take()
          if (overtaken.signal.aborted) return undefined
        }
      }
      const overtaken = new AbortController()
      const recover = async (): Promise<unknown> => {
        await turns.take()
        try {
          return await errorOf(() => recoverForOperators(turned, { without: [], clock }))
        } finally {
          overtaken.abort()
        }
      }
      const [, refused] = await turns.all<unknown>([overtake, recover])
      const error = refused?.status === 'fulfilled' ? refused.value : undefined

      expect(error).to.include({ code: 'CONFLICT' })
      expect(String(error)).to.match(/another recovery has begun or ended .* run this again/)
      const again = await recoverForOperators(store, { without: [], clock: new ManualClock() })
      expect(again).to.include({ performed: true, recovery: 1 })
      expect([...(await epochsIn(store)).keys()]).to.deep.equal(PATHS)
      expect(decodeRecovered((await store.get(RECOVERED_KEY))?.value)).to.equal(1)
    })
  })
}
