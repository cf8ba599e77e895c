import { expect } from 'chai'
import { seededRandom } from '../../lib/random.ts'
import type { Violation } from '../support/checkers/client-history.ts'
import { listViolations, type ListTransaction } from '../support/checkers/list-append.ts'
import { ListLoad } from '../support/loads/list-load.ts'
import type { KillableStore, StorePlace } from '../support/places/store-under-test.ts'
import { ConnectionLost } from '../support/servers/store-client.ts'

const CLIENTS = 10
const SHOWN_MAX = 10
const NEVER = new AbortController().signal

export interface SerializabilityOptions {
  readonly seed: number
  /** Transactions of each of ten clients, before and after the loss of a process. */
  readonly perClient: number
  readonly timeoutMs: number
}

/** Concurrent transactions are serializable as clients see them, wherever the store runs. */
export function describeSerializability(
  place: StorePlace<KillableStore>,
  { seed, perClient, timeoutMs }: SerializabilityOptions,
): void {
  describe(`transactions over HTTP, of ${place.name}`, () => {
    it(`are serializable over the loss of a process (QUARRY_TEST_SEED=${seed})`, async () => {
      const load = new ListLoad(seededRandom(seed))
      await using store = await place.open()
      await loseOne(store, load, perClient)
      await store.start()
      using client = store.connect(NEVER)

      await load.run(client, { clients: CLIENTS, perClient })

      const violations = listViolations(load.transactions, await load.readAll(client))
      expectNone(violations, store.log)
      expectContention(load.transactions)
    }).timeout(timeoutMs)
  })
}

/** Clients of a store that survives the loss continue; the others end with it. */
async function loseOne(store: KillableStore, load: ListLoad, perClient: number): Promise<void> {
  using client = store.connect(NEVER)
  await load.prepare(client)
  const half = load.tally.reached(Math.floor((CLIENTS * perClient) / 2))
  const run = load.run(client, { clients: CLIENTS, perClient }).catch((error: unknown) => {
    if (store.survives || !(error instanceof ConnectionLost)) throw error
  })
  await Promise.race([half, run])
  await store.killSome()
  await run
}

function expectNone(violations: readonly Violation[], log: string): void {
  const shown = violations.slice(0, SHOWN_MAX).map(({ rule, description }) => {
    return `${rule}: ${description}`
  })
  expect(shown.join('\n'), `${violations.length} violations; the log: ${log}`).to.equal('')
}

/** Enough went through, and enough was refused, for the check to mean something. */
function expectContention(transactions: readonly ListTransaction[]): void {
  const claiming = transactions.filter(({ reads, appends }) => {
    return reads.length > 1 && appends.length > 0
  })
  const committed = claiming.filter(({ outcome }) => outcome === 'ok')
  const refused = claiming.filter(({ outcome }) => outcome === 'fail')
  expect(committed.length, 'committed').to.be.greaterThan(10)
  expect(refused.length, 'refused').to.be.greaterThan(10)
}
