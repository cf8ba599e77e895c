import { FORGET_PERIOD_MS } from '../../../node/transactions/transaction-finisher.ts'
// One run through everything that writes more than once, and what must be true of it afterwards
// however it was cut short. Used by test/integration/step-crash.test.ts.

import { expect } from 'chai'
import { parseTransforms } from '../../../node/document/transform.ts'
import type { TransformRequest } from '../../../node/document/transform-request.ts'
import type { TableWrites } from '../../../node/document/writes.ts'
import {
  documentOf,
  fateOf,
  fieldOf,
  insert,
  PROPOSE,
  tableContent,
  WRITE,
  writesOf,
  type Fate,
  type SwarmHarness,
} from '../servers/swarm-harness.ts'

const ALPHA_SPLITS = ['g', 'n', 't']
const BETA_SPLITS = ['m']
const ACCOUNTS = ['a', 'h', 'p', 'w']
const DEPOSIT = 100
const MERGED = ['q1', 'q2', 'v1', 'v2']

export type Step = 'transfer' | 'commit' | 'merge' | 'idempotent' | 'drop' | 'gamma' | 'create'
export type Fates = Partial<Record<Step, Fate>>

/** Tables and documents as they are before the run. */
export async function prepareScenario(harness: SwarmHarness): Promise<void> {
  const { store } = harness
  await store.createTable('alpha', { split_keys: ALPHA_SPLITS })
  await store.createTable('beta', { split_keys: BETA_SPLITS })
  await store.createTable('gamma', { split_keys: ['m'] })
  const inserts = ACCOUNTS.map((key) => insert(key, { balance: DEPOSIT }))
  const merged = ['q1', 'q0', 'v2'].map((key) => insert(key, { merged: 'before' }))
  await store.batch(writesOf('alpha', { inserts: [...inserts, ...merged] }), WRITE)
  const beta = [insert('bank', { balance: 0 }), insert('watched', { n: 1 })]
  await store.batch(writesOf('beta', { inserts: beta }), WRITE)
  // So that the run has the internal table at hand, and its creation is not a step of it.
  await store.crossBatch([], { ...WRITE, idempotency: { key: 'warm', digest: 'w' } })
}

/** Every step answers on its own; a power failure refuses the rest. */
export async function runScenario(harness: SwarmHarness): Promise<Fates> {
  const { store } = harness
  const fates: Fates = {}
  fates.transfer = await fateOf(store.crossBatch(transfer(), PROPOSE))
  fates.commit = await fateOf(commit(harness))
  fates.merge = await fateOf(merge(harness))
  fates.idempotent = await fateOf(countOnce(harness))
  const gamma = [
    writesOf('gamma', { inserts: [insert('g1', {}), insert('x1', {})] }),
    writesOf('beta', { inserts: [insert('gb1', {}), insert('zb1', {})] }),
  ]
  const [written, dropped, created] = await Promise.all([
    fateOf(store.crossBatch(gamma, PROPOSE)),
    fateOf(store.dropTable('gamma')),
    fateOf(store.createTable('delta', { split_keys: ['m'] })),
  ])
  return { ...fates, gamma: written, drop: dropped, create: created }
}

function transfer(): readonly TableWrites[] {
  const inserts = ACCOUNTS.map((key) => insert(key, { balance: DEPOSIT - 1 }))
  const bank = insert('bank', { balance: ACCOUNTS.length })
  return [writesOf('alpha', { inserts }), writesOf('beta', { inserts: [bank] })]
}

/** Reads `watched` on a shard that it does not write to. */
async function commit(harness: SwarmHarness): Promise<void> {
  const { store } = harness
  const watched = await documentOf(store, 'beta', 'watched')
  const claim = { table: 'beta', key: Buffer.from('watched'), version: watched?.version ?? 0n }
  const inserts = [insert('occ', {}), insert('z-occ', {})]
  const result = await store.commit([claim], [writesOf('alpha', { inserts })], WRITE)
  expect(result.status).to.equal('committed')
}

async function merge({ store }: SwarmHarness): Promise<void> {
  const records = MERGED.map((key) => insert(key, { merged: 'after' }))
  const lastMergedId = Buffer.from('q')
  await store.merge('alpha', { records, lastMergedId, dryRun: false, options: WRITE })
}

export async function countOnce({ store }: SwarmHarness): Promise<void> {
  const idempotency = { key: 'once', digest: 'count' }
  const writes = [
    writesOf('alpha', { transforms: [increment('count')] }),
    writesOf('beta', { transforms: [increment('w-count')] }),
  ]
  await store.crossBatch(writes, { ...WRITE, idempotency })
}

function increment(key: string): TransformRequest {
  const operations = [{ op: '$inc', path: 'n', value: 1 }]
  const text = JSON.stringify([{ key, upsert: true, operations }])
  const [request] = parseTransforms(Buffer.from(text), 'transforms')
  if (request === undefined) throw new TypeError('one transform was given')
  return request
}

/** All or nothing, acknowledged means there, and nothing is left over. */
export async function checkScenario(harness: SwarmHarness, fates: Fates): Promise<void> {
  await checkTransfer(harness, fates)
  await checkWhole(harness, fates.commit, [
    ['alpha', 'occ'],
    ['alpha', 'z-occ'],
  ])
  await checkMerge(harness, fates)
  await checkGamma(harness, fates)
  await checkCreate(harness, fates)
  await checkIdempotent(harness, fates)
  expect(await harness.entries('intents'), 'intents').to.deep.equal([])
  await harness.advance(FORGET_PERIOD_MS)
  expect(await harness.entries('transactions'), 'transaction records').to.deep.equal([])
  const { shards } = await harness.store.status()
  for (const shard of Object.values(shards)) expect(shard.pending_intents).to.equal(0)
}

type Place = readonly [table: string, key: string]

/** INV-T4: every document of a transaction has the same version, or none is there. */
async function checkWhole(
  { store }: SwarmHarness,
  fate: Fate | undefined,
  places: readonly Place[],
): Promise<void> {
  const found = await Promise.all(places.map(([table, key]) => documentOf(store, table, key)))
  const versions = new Set(found.map((document) => document?.version))
  expect(versions.size, `versions of ${places.join(' ')}: ${[...versions].join(' ')}`).to.equal(1)
  if (fate?.kind === 'acknowledged') expect([...versions]).to.not.include(undefined)
}

async function checkTransfer(harness: SwarmHarness, { transfer: fate }: Fates): Promise<void> {
  const { store } = harness
  const places: readonly Place[] = [
    ...ACCOUNTS.map((key): Place => ['alpha', key]),
    ['beta', 'bank'],
  ]
  const found = await Promise.all(places.map(([table, key]) => documentOf(store, table, key)))
  const balances = found.map((document) => Number(fieldOf(document?.value, 'balance')))
  expect(balances.reduce((sum, balance) => sum + balance)).to.equal(DEPOSIT * ACCOUNTS.length)
  const moved = balances.at(-1) !== 0
  expect(balances.slice(0, -1)).to.deep.equal(ACCOUNTS.map(() => DEPOSIT - (moved ? 1 : 0)))
  if (fate?.kind === 'acknowledged') expect(moved).to.equal(true)
  if (moved) await checkWhole(harness, fate, places)
}

async function checkMerge({ store }: SwarmHarness, { merge: fate }: Fates): Promise<void> {
  const content = await tableContent(store, 'alpha')
  const merged = Object.entries(content).filter(([key]) => /^[qv]/.test(key))
  const after = MERGED.map((key) => [key, 'after'])
  const before = ['q0', 'q1', 'v2'].map((key) => [key, 'before'])
  const seen = merged.map(([key, value]) => [key, fieldOf(value, 'merged')])
  expect([before, after]).to.deep.include(seen)
  if (fate?.kind === 'acknowledged') expect(seen).to.deep.equal(after)
}

async function checkGamma(harness: SwarmHarness, { gamma, drop }: Fates): Promise<void> {
  await checkWhole(harness, gamma, [
    ['beta', 'gb1'],
    ['beta', 'zb1'],
  ])
  const tables = (await harness.store.listTables({})).map(({ name }) => name)
  if (drop?.kind === 'acknowledged') expect(tables).to.not.include('gamma')
  if (tables.includes('gamma')) {
    await checkWhole(harness, gamma, [
      ['beta', 'gb1'],
      ['gamma', 'g1'],
      ['gamma', 'x1'],
    ])
    await harness.store.dropTable('gamma')
  }
  await harness.store.createTable('gamma', {}) // the name is free again
  expect(await tableContent(harness.store, 'gamma')).to.deep.equal({})
  await harness.store.dropTable('gamma')
}

async function checkCreate({ store }: SwarmHarness, { create }: Fates): Promise<void> {
  const exists = (await store.listTables({})).some(({ name }) => name === 'delta')
  if (create?.kind === 'acknowledged') expect(exists).to.equal(true)
  if (!exists) await store.createTable('delta', { split_keys: ['m'] })
  expect(Object.keys((await store.getTable('delta')).shards)).to.have.length(2)
  const inserts = [insert('a', {}), insert('z', {})]
  await store.batch(writesOf('delta', { inserts }), WRITE)
  expect(Object.keys(await tableContent(store, 'delta'))).to.deep.equal(['a', 'z'])
}

/** INV-T12: the retry answers, and the effect is there once. */
async function checkIdempotent(harness: SwarmHarness, { idempotent }: Fates): Promise<void> {
  const places: readonly Place[] = [
    ['alpha', 'count'],
    ['beta', 'w-count'],
  ]
  await checkWhole(harness, idempotent, places)
  await countOnce(harness)
  await countOnce(harness)
  for (const [table, key] of places) {
    expect((await documentOf(harness.store, table, key))?.value).to.deep.equal({ n: 1 })
  }
}
