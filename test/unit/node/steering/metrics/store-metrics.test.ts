import { expect } from 'chai'
import { CONTENTION_DEADLINE_MS } from '../../../../../node/transactions/transaction-runner.ts'
import {
  OTHER_TABLES,
  TABLES_SHOWN_MAX,
} from '../../../../../node/steering/metrics/table-metrics.ts'
import { ManualClock } from '../../../../../lib/clock.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { countTo } from '../../../../support/loads/load.ts'
import {
  documentOf,
  insert,
  settle,
  SwarmHarness,
} from '../../../../support/servers/swarm-harness.ts'
import { WRITE, writesOf } from '../../../../support/servers/swarm-harness.ts'

async function openTable(): Promise<SwarmHarness> {
  const harness = await SwarmHarness.open({ clock: new ManualClock() })
  await harness.store.createTable('t', { split_keys: ['m'] })
  return harness
}

function write({ store }: SwarmHarness, ...keys: string[]): Promise<unknown> {
  const inserts = keys.map((key) => insert(key, { key }))
  return store.batch(writesOf('t', { inserts }), WRITE)
}

describe('the metrics of the store', () => {
  it('count transactions over one shard apart from those over several', async () => {
    await using harness = await openTable()
    await write(harness, 'a')
    await write(harness, 'b')
    await write(harness, 'a', 'z')

    expect(await harness.metricLines()).to.include.members([
      'quarry_transactions_committed_total{shards="one"} 2',
      'quarry_transactions_committed_total{shards="several"} 1',
    ])
  })

  for (const keys of [['a'], ['a', 'z']]) {
    it(`count a refused commit over ${keys.length} shards once, by its reason`, async () => {
      await using harness = await openTable()
      const inserts = keys.map((key) => insert(key, {}))
      const claims = keys.map((key) => ({ table: 't', key: Buffer.from(key), version: 1n }))

      const { status } = await harness.store.commit(claims, [writesOf('t', { inserts })], WRITE)

      expect(status).to.equal('aborted')
      expect(await harness.metricLines()).to.include.members([
        'quarry_transactions_aborted_total{reason="version_changed"} 1',
        'quarry_transactions_aborted_total{reason="key_held"} 0',
      ])
    })
  }

  it('count a write that waited too long, and show waiting keys and commands meanwhile', async () => {
    await using harness = await openTable()
    const { disk, clock } = harness
    disk.hold('before')
    const first = write(harness, 'a', 'z')
    await disk.whenHeld()
    const second = errorOf(() => write(harness, 'z', 'a'))
    await settle()
    const meanwhile = await harness.metricLines()
    if (clock instanceof ManualClock) clock.advance(CONTENTION_DEADLINE_MS)
    await second
    disk.release()
    await first

    expect(meanwhile).to.include('quarry_transaction_waiting_keys 2')
    expect(meanwhile.find((line) => line.startsWith('quarry_pending_commands '))).to.not.match(
      / 0$/,
    )
    expect(await harness.metricLines()).to.include.members([
      'quarry_transaction_waiting_keys 0',
      'quarry_pending_commands 0',
      'quarry_transactions_aborted_total{reason="waited_too_long"} 1',
    ])
  })

  it('count answers that are repeated for an idempotency key', async () => {
    await using harness = await openTable()
    const writes = writesOf('t', { inserts: [insert('a', {})] })
    const options = { ...WRITE, idempotency: { key: 'k', digest: 'd' } }

    await harness.store.batch(writes, options)
    await harness.store.batch(writes, options)

    expect(await documentOf(harness.store, 't', 'a')).to.not.equal(undefined)
    expect(await harness.metricLines()).to.include('quarry_idempotency_replays_total 1')
  })

  it('count tables and shards, and show whether the store is ready', async () => {
    await using harness = await openTable()

    expect(await harness.metricLines()).to.include.members([
      'quarry_ready 1',
      'quarry_tables 1',
      'quarry_shards{state="serving"} 2',
      'quarry_shards{state="failed"} 0',
      'quarry_clock_leapt 0',
      'quarry_model_keys{secret="accepted"} 0',
      'quarry_model_keys{secret="none"} 0',
    ])
  })

  it('show a limited number of tables, and the others as one', async () => {
    await using harness = await SwarmHarness.open({ clock: new ManualClock() })
    for (const n of countTo(TABLES_SHOWN_MAX + 2)) await harness.store.createTable(`t${n}`, {})

    const lines = await harness.metricLines()

    const shown = lines.filter((line) => line.startsWith('quarry_table_store_bytes{'))
    expect(shown).to.have.length(TABLES_SHOWN_MAX + 1)
    expect(shown.at(-1)).to.include(`{table="${OTHER_TABLES}"}`)
  })

  it('measure tables again after a while, and not at every scrape', async () => {
    await using harness = await openTable()
    await harness.metricLines()
    await harness.store.createTable('later', {})
    const tableLine = /^quarry_table_store_bytes\{table="later"\}/

    const atOnce = await harness.metricLines()
    await harness.advance(10_000)
    const later = await harness.metricLines()

    expect(atOnce.some((line) => tableLine.test(line))).to.equal(false)
    expect(later.some((line) => tableLine.test(line))).to.equal(true)
  })
})
