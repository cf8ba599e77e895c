// Every kind of request at once against the store as a process of its own, while it is watched how long
// its event loop and its text workers are held, and how much memory it takes.
//
// Not part of `npm test`: `npm run test:soak:slices`. QUARRY_SOAK_SECONDS says how long, and
// QUARRY_SOAK_UPDATE=true puts the figures into docs/lab/benchmarks.md.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { replaceFigures } from '../../bench/report/figures-file.ts'
import { seededRandom, type Random } from '../../lib/random.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import { StoreProcess } from '../support/processes/store-process.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { figuresOf, RequestTally } from './slice-figures.ts'
import { boundMs, readSlices } from './slice-bounds.ts'
import { MIX, prepareTables, type MixClient } from './store-mix.ts'

const BENCHMARKS = path.resolve(import.meta.dirname, '../../docs/lab/benchmarks.md')
const MIB = 1024 * 1024
const { seed, soakSeconds, soakUpdates } = parseTestSettings(process.env)

describe('the store under everything at once', () => {
  let folder: string
  let store: StoreProcess

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-soak-'))
    store = await StoreProcess.start({ dataDir: path.join(folder, 'data') })
  })

  after(async () => {
    await store.kill()
    await rm(folder, { recursive: true })
  })

  it(`keeps its slices short for ${soakSeconds} s, seed ${seed}`, async () => {
    using client = new StoreClient(store.api)
    await prepareTables(client)
    const residentAtStart = store.residentBytes()
    const stop = AbortSignal.timeout(soakSeconds * 1000)
    const tally = new RequestTally()

    await Promise.all(
      MIX.map((one, i) => drive(one, { store, tally, stop, random: seededRandom(seed + i) })),
    )

    const slices = await readSlices(store.health)
    const resident = [residentAtStart, store.residentBytes()].map((bytes) => bytes / MIB)
    const figures = figuresOf({ slices, tally, resident, soakSeconds })
    process.stdout.write(`${figures}\n`)
    if (soakUpdates) {
      const text = await readFile(BENCHMARKS, 'utf8')
      await writeFile(BENCHMARKS, replaceFigures(text, { suite: 'slices' }, figures))
    }
    expect(tally.broken()).to.deep.equal([])
    for (const thread of ['loop', 'worker'] as const) {
      const maxMs = boundMs(thread)
      const over = slices[thread].longest.filter(({ workMs }) => workMs > maxMs)
      expect(over, `longer than ${maxMs} ms of work: ${thread}`).to.deep.equal([])
    }
  })
})

interface Driven {
  readonly store: StoreProcess
  readonly tally: RequestTally
  readonly stop: AbortSignal
  readonly random: Random
}

async function drive(
  { next, restMs }: MixClient,
  { store, tally, stop, random }: Driven,
): Promise<void> {
  using client = new StoreClient(store.api)
  while (!stop.aborted) {
    const { kind, send } = next(client, random)
    const beganMs = performance.now()
    const { status, text } = await send()
    tally.add({ kind, status, text, ms: performance.now() - beganMs })
    // The pace of the load, not a wait for anything.
    if (restMs > 0) await sleep(restMs, undefined, { signal: stop }).catch(() => undefined)
  }
}
