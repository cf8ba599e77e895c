import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { seededRandom } from '../../../../../lib/random.ts'
import { SILENCE_MS_MAX } from '../../../../../operator/runtime/cache/informer.ts'
import { ABSENT_RECHECK_MS, KindCache } from '../../../../../operator/runtime/cache/kind-cache.ts'
import { FakeKubernetes } from '../../../../support/kubernetes/fake-kubernetes.ts'
import { ALL_KINDS, CONFIG_MAPS } from '../../../../support/kubernetes/known-kinds.ts'
import { wrongOfCache } from '../../../../support/operator/cache-schedule.ts'
import { pass, settle } from '../../../../support/operator/settle.ts'
import { parseTestSettings } from '../../../../support/worlds/test-settings.ts'

const { seed } = parseTestSettings(process.env)
const SCHEDULES = 12
const { signal } = new AbortController()

describe('KindCache', () => {
  it(`holds OX1 to OX4 and IN1 to IN3 in random schedules (QUARRY_TEST_SEED=${seed})`, async () => {
    const wrong: (string | undefined)[] = []
    for (let at = 0; at < SCHEDULES; at++) wrong.push(await wrongOfCache(seed + at))

    expect(wrong.filter((what) => what !== undefined)).to.deep.equal([])
  })

  it('outlives a refusal right after its kind was created', async () => {
    const world = openCache()
    world.api.faults.add({ verbs: ['list'], times: 3, status: 429, retryAfterMs: 1000 })
    world.cache.start()

    await pass(world.clock, 20_000)

    expect(world.cache.isReady()).to.equal(true)
    await world.cache.stop()
  })

  it('keeps its objects while their kind is not served, and is not ready (IN5)', async () => {
    const world = openCache()
    await world.write('a')
    world.cache.start()
    await settle()
    const heard = world.heard.length

    world.api.unserve(CONFIG_MAPS)
    await pass(world.clock, 40_000)
    const without = { isReady: world.cache.isReady(), size: world.cache.size }
    world.api.serve(CONFIG_MAPS)
    await pass(world.clock, ABSENT_RECHECK_MS)

    expect(without).to.deep.equal({ isReady: false, size: 1 })
    expect(world.cache.isReady()).to.equal(true)
    expect(world.heard.length).to.equal(heard)
    await world.cache.stop()
  })

  it('asks for an optional kind that it may not read as seldom as for one that is not served', async () => {
    const world = openCache({ isOptional: true })
    world.api.faults.add({ verbs: ['list'], times: 1, status: 403 })
    world.cache.start()

    await pass(world.clock, ABSENT_RECHECK_MS - 1000, 60_000)
    const before = world.cache.isReady()
    await pass(world.clock, 2000)

    expect([before, world.cache.isReady()]).to.deep.equal([false, true])
    await world.cache.stop()
  })

  it('takes an older list after it was told it several times (IN4)', async () => {
    const world = openCache()
    const first = world.api.store.version
    await world.write('a')
    world.cache.start()
    await settle()
    world.api.serveStaleLists(first, 4)
    const versionGone = { verbs: ['watch'], times: 1, status: 410 } as const
    world.api.faults.add(versionGone)
    world.api.endWatches({ kind: 'closed' })

    await pass(world.clock, 3000, 500)
    const early = world.cache.size
    await pass(world.clock, 30_000, 500)

    expect(early).to.equal(1)
    expect(world.cache.informers()[0]?.lists).to.be.at.least(5)
    await world.cache.stop()
  })

  it('tells the age of the last event, and how many watches were silent', async () => {
    const world = openCache()
    world.cache.start()
    await settle()
    world.api.stallWatches()
    await pass(world.clock, 100_000)
    const before = world.cache.informers()[0]
    await pass(world.clock, SILENCE_MS_MAX - 100_000 + 1000)
    const after = world.cache.informers()[0]

    expect(before).to.include({ lastEventAgeMs: 100_000, silences: 0, watches: 1 })
    expect(after).to.include({ silences: 1, watches: 2, lists: 1 })
    await world.cache.stop()
  })

  it('asks an API that ends each watch at once twice a second at most', async () => {
    const world = openCache()
    world.cache.start()
    await settle()
    for (let second = 0; second < 20; second++) {
      world.api.endWatches({ kind: 'closed' })
      await pass(world.clock, 1000, 100)
    }

    expect(world.cache.informers()[0]?.watches).to.be.within(15, 41)
    await world.cache.stop()
  })

  it('ends while a watch is silent', async () => {
    const world = openCache()
    world.cache.start()
    await settle()
    world.api.stallWatches()

    await world.cache.stop()
    await settle()

    expect(world.api.watchCount).to.equal(0)
  })
})

function openCache({ isOptional = false } = {}) {
  const clock = new ManualClock()
  const api = new FakeKubernetes(clock, ALL_KINDS)
  const heard: string[] = []
  const cache = new KindCache({
    api,
    clock,
    random: seededRandom(1),
    log: silentLog,
    kind: CONFIG_MAPS,
    namespaces: ['test'],
    labelSelector: '',
    groupOf: () => undefined,
    absentRecheckMs: ABSENT_RECHECK_MS,
    isOptional,
    onChange: ({ metadata }) => heard.push(metadata.name),
  })
  const write = async (name: string): Promise<void> => {
    const metadata = { name, namespace: 'test' }
    await api.create(CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata }, signal)
  }
  return { clock, api, cache, heard, write }
}
