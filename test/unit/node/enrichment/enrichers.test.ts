import { expect } from 'chai'
import { storedProgress } from '../../../../node/shard/format/enrichment-progress.ts'
import { REFUSED_MARK } from '../../../conformance/enrichment.ts'
import { FILE_MARK } from '../../../support/fakes/fake-enrichment.ts'
import { countTo } from '../../../support/loads/load.ts'
import {
  ENRICHED,
  ENRICHED_SETTINGS,
  EnrichedWorld,
} from '../../../support/worlds/enriched-world.ts'

/** One round of retries, and the moments in which its calls are made and answered. */
async function minute(world: EnrichedWorld): Promise<void> {
  await world.step(60_000)
  for (let step = 0; step < 4; step++) await world.step(10)
}

const textsOf = (count: number, prefix = 'text', from = 0): Readonly<Record<string, string>> =>
  Object.fromEntries(
    countTo(count).map((n) => [`k${String(from + n).padStart(5, '0')}`, `${prefix} ${n}`]),
  )

describe('the enricher of a shard', () => {
  it('gives each document the artifact of its source, and embeds each text once', async () => {
    await using world = await EnrichedWorld.open()

    await world.write({ ...textsOf(500), blank: ' ' })
    await world.settle()

    const found = Object.values(await world.artifacts())
    expect(found.filter((state) => state === 'made')).to.have.length(500)
    expect(found.filter((state) => state === 'nothing')).to.have.length(1)
    expect([...world.model.embedded.values()].every((count) => count === 1)).to.equal(true)
    expect(await world.status()).to.include({ pending: 0, enriched: 501, parked: 0, progress: 1 })
  })

  it('counts as pending what was acknowledged, from that moment on', async () => {
    await using world = await EnrichedWorld.open()
    await world.settle()
    await world.write(textsOf(20))

    const { pending } = await world.status()

    expect(pending).to.be.at.least(1)
    await world.until(async () => (await world.status()).pending === 0)
    expect(world.model.embedded.size).to.equal(20)
  })

  it('asks by the settings of now, and embeds nothing again for them', async () => {
    await using world = await EnrichedWorld.open()
    await world.write(textsOf(20))
    await world.settle()
    const same = structuredClone(ENRICHED)
    const changed = { ...ENRICHED, settings: { external: false, key: 'sealed anew' } }

    await world.shard.led.setSettings({ ...ENRICHED_SETTINGS, indexes: [same] })
    const openedForSame = world.opened.length
    await world.shard.led.setSettings({ ...ENRICHED_SETTINGS, indexes: [changed] })
    await world.put('later', 'one more')
    await world.settle()

    expect(openedForSame).to.equal(1)
    expect(world.opened).to.deep.equal([ENRICHED.settings, changed.settings])
    expect(world.model.embedded.size).to.equal(21)
    expect([...world.model.embedded.values()].every((count) => count === 1)).to.equal(true)
  })

  it('enriches what was there before the index', async () => {
    await using world = await EnrichedWorld.open()
    world.led.remove(world.shard.id)
    await world.write(textsOf(700))

    await world.lead()
    await world.settle()

    expect(world.model.embedded.size).to.equal(700)
    await world.until(async () => !(await world.status()).rebuilding)
  })

  it('tells how many documents of the table a walk has done', async () => {
    await using world = await EnrichedWorld.open({ limits: { entries: 5, bytes: Infinity } })
    // As of a store that has written nothing of them to its disk.
    world.shard.led.store.approximateBytes = async () => 0
    world.model.callMs = 12_000
    for (let part = 0; part < 10; part++) await world.write(textsOf(150, `${part}`, part * 150))
    await world.until(async () => (await world.status()).rebuilding)
    world.model.callMs = 1_000
    const walked = (): number => world.shard.led.enrichers.get(ENRICHED.id)?.documentsWalked ?? 0
    const counts = new Set<number>()
    const shares = new Set<number>()

    await world.until(async () => {
      const { progress, rebuilding } = await world.status()
      counts.add(walked())
      shares.add(progress)
      return !rebuilding
    })

    expect([...counts].filter((count) => count > 0 && count < 1500)).to.have.length.above(1)
    expect([...shares].filter((share) => share > 0 && share < 1)).to.have.length.above(1)
    expect((await world.status()).progress).to.equal(1)
    expect(walked()).to.equal(0)
    expect(world.model.embedded.size).to.equal(1500)
  })

  it('embeds a changed text again, and nothing for a change of something else', async () => {
    await using world = await EnrichedWorld.open()
    await world.put('a', 'one')
    await world.settle()

    await world.put('a', 'one ')
    await world.put('a', 'two')
    await world.settle()

    expect([...world.model.embedded]).to.deep.equal([
      ['one', 1],
      ['two', 1],
    ])
  })

  it('makes full batches of many documents, several at once', async () => {
    await using world = await EnrichedWorld.open()
    world.model.callMs = 100

    await world.write(textsOf(1000))
    await world.settle()

    expect(world.model.calls.length).to.be.at.most(25)
    expect(world.model.runningMax).to.equal(4)
  })

  it('leaves nothing to do after a restart, and adds no entries while nothing is written', async () => {
    await using world = await EnrichedWorld.open()
    await world.write(textsOf(300))
    await world.settle()
    await world.pass(30_000)
    const before = world.shard.led.appliedSequence
    await world.pass(120_000)
    const idle = world.shard.led.appliedSequence

    await world.restart()
    await world.pass(30_000)

    expect(idle).to.equal(before)
    expect(storedProgress(world.shard.store, ENRICHED.id)?.spans).to.deep.equal([])
    expect(world.model.calls.reduce((sum, count) => sum + count)).to.equal(300)
    expect(await world.status()).to.include({ rebuilding: false, pending: 0 })
  })

  it('parks what a model refuses and what cannot be read, with the reason, until it changes', async () => {
    await using world = await EnrichedWorld.open()
    world.model.fault = 'refuses-marked'

    await world.write({ good: 'fine', bad: REFUSED_MARK, odd: 7 })
    await world.settle()
    const { parked, parkedDocuments } = await world.status(10)

    expect(parked).to.equal(2)
    expect(parkedDocuments.map(({ key, error }) => [key.toString(), error])).to.deep.equal([
      ['bad', 'fake model: it refuses this text'],
      ['odd', 'the field text is not a string'],
    ])
    await world.write({ bad: 'better', odd: undefined })
    await world.settle()
    expect(await world.status()).to.include({ parked: 0 })
    expect(await world.artifacts()).to.deep.equal({ good: 'made', bad: 'made' })
  })

  it('tries again by itself what was parked while nobody could be reached, once the model answers', async () => {
    await using world = await EnrichedWorld.open()
    world.model.fault = 'unavailable'
    await world.write({ one: 'first', two: 'second' })
    await world.until(async () => (await world.status()).parked === 2)

    world.model.fault = undefined
    await world.until(async () => (await world.status()).parked === 0)

    expect(await world.artifacts()).to.deep.equal({ one: 'made', two: 'made' })
    expect([...world.model.embedded.values()]).to.deep.equal([1, 1])
  })

  it('looks again for a file that was not there, at times that are further and further apart', async () => {
    await using world = await EnrichedWorld.open()
    world.model.isFileAway = true
    await world.write({ far: `a ${FILE_MARK}`, near: 'fine' })
    await world.until(async () => (await world.status()).parked === 1)
    expect(await world.artifacts()).to.deep.equal({ far: 'parked', near: 'made' })

    const missed: number[] = []
    for (let round = 1; round <= 8; round++) {
      await minute(world)
      missed.push(world.model.missed)
    }
    expect(missed).to.deep.equal([2, 3, 3, 4, 4, 4, 4, 5])

    world.model.isFileAway = false
    for (let round = 9; round <= 16; round++) await minute(world)
    expect(await world.artifacts()).to.deep.equal({ far: 'made', near: 'made' })
    expect(await world.status()).to.include({ parked: 0, error: undefined })
  })

  it('looks ten times for a file, and then not before the document changes', async () => {
    await using world = await EnrichedWorld.open()
    world.model.isFileAway = true
    await world.put('far', `a ${FILE_MARK}`)
    await world.until(async () => (await world.status()).parked === 1)

    for (let round = 1; round <= 600; round++) await minute(world)
    expect(world.model.missed).to.equal(10)
    expect((await world.status(1)).parkedDocuments[0]).to.include({ attempts: 10 })

    world.model.isFileAway = false
    for (let round = 1; round <= 10; round++) await minute(world)
    expect(await world.artifacts()).to.deep.equal({ far: 'parked' })
    await world.put('far', `another ${FILE_MARK}`)
    await world.settle()
    expect(await world.artifacts()).to.deep.equal({ far: 'made' })
  })

  it('waits for a summarizer however long that takes, says so, and enriches what needs none', async () => {
    await using world = await EnrichedWorld.open()
    world.model.isFileAway = true
    world.model.awayPart = 'summarizer'
    await world.write({ far: `a ${FILE_MARK}`, near: 'fine' })
    await world.until(async () => (await world.status()).parked === 1)
    expect(await world.artifacts()).to.deep.equal({ far: 'parked', near: 'made' })
    expect((await world.status()).error).to.match(
      /^documents with files wait since 20.* for their summarizer: fake/,
    )

    for (let round = 1; round <= 600; round++) await minute(world)
    expect(world.model.missed).to.be.within(20, 60)

    world.model.isFileAway = false
    for (let round = 1; round <= 16; round++) await minute(world)
    expect(await world.artifacts()).to.deep.equal({ far: 'made', near: 'made' })
    expect(await world.status()).to.include({ error: undefined })
  })

  it('does not count a document as parked that a write has given its vector', async () => {
    await using world = await EnrichedWorld.open()
    world.model.fault = 'unavailable'
    await world.put('late', 'fine')
    await world.until(async () => (await world.status()).parked === 1)

    await world.writeWithVector('late', 'fine too')
    await world.until(async () => (await world.status()).parked === 0)

    expect(await world.artifacts()).to.deep.equal({ late: 'made' })
  })
})
