// Defects planted in the queue, the cache and the election of the operator: the random schedules of one of some seeds show
// each of them.

import { expect } from 'chai'
import { plantCopy, type Defect } from '../support/simulation/planted-copy.ts'

const FOLDERS = {
  copied: ['operator/runtime', 'test/support/operator', 'test/support/kubernetes'],
  linked: ['lib', 'node_modules', 'package.json'],
}
const SEEDS_MAX = 60

type Schedule = 'queue' | 'cache' | 'election'
type WrongOf = (seed: number) => string | undefined | Promise<string | undefined>

interface Planted extends Defect {
  readonly shownBy: Schedule
}

const queue = (text: string, instead: string): Planted => ({
  shownBy: 'queue',
  file: 'queue/keyed-queue.ts',
  text,
  instead,
})
const index = (text: string, instead: string): Planted => ({
  shownBy: 'cache',
  file: 'cache/object-index.ts',
  text,
  instead,
})
const informer = (text: string, instead: string): Planted => ({
  shownBy: 'cache',
  file: 'cache/informer.ts',
  text,
  instead,
})
const election = (text: string, instead: string): Planted => ({
  shownBy: 'election',
  file: 'election/leader-election.ts',
  text,
  instead,
})

const DEFECTS: Readonly<Record<string, Planted>> = {
  'a key that a second worker takes': queue(
    'if (this.#workSinceMs.has(key)) this.#addedInWork.add(key)\n    else this.#wait(key)',
    'this.#wait(key)',
  ),
  'an add during a pass that is lost': queue(
    'if (this.#addedInWork.delete(key)) this.#wait(key)',
    'this.#addedInWork.delete(key)',
  ),
  'the latest of several moments': queue(
    'if (dueMs >= (this.#dueMs.get(key) ?? Infinity)) return false',
    '',
  ),
  'a moment that a sooner add does not end': queue(
    'this.#dueMs.delete(key)\n    this.#retrying.delete(key)\n    if',
    'if',
  ),
  'retries that never become rarer': queue('2 ** Math.min(failures, 30)', '2'),
  'retries without a limit for all keys': queue(
    'if (!this.#retrying.has(key) || this.#retryTokens.tryTake(nowMs)) this.add(key)',
    'this.add(key)',
  ),
  'a key that goes to the end when it is added again': queue(
    'if (this.#waiting.has(key)) return\n    this.#waiting.set',
    'this.#waiting.delete(key)\n    this.#waiting.set',
  ),
  'objects that a list lacks and that stay': index(
    'for (const [key, object] of gone) this.#drop(key, object)',
    '',
  ),
  'objects that went between two lists without a word': index(
    'for (const [, object] of [...gone, ...changed])',
    'for (const [, object] of changed)',
  ),
  'an owner that keeps what it has given away': index(
    'if (known !== undefined) this.#drop(key, known)',
    '',
  ),
  'changes that are told before they are made': index(
    'this.#set(key, object, known)\n    this.#onChange(object)',
    'this.#onChange(object)\n    this.#set(key, object, known)',
  ),
  'a watch that may be silent without end': informer(
    "(): WatchEnd => (silentMs < relistMs ? 'silent' : 'relist-due'),",
    "(): Promise<WatchEnd> => (silentMs < relistMs ? new Promise(() => {}) : Promise.resolve('relist-due')),",
  ),
  'lists that lag behind': informer(
    'if (this.#isStale(resourceVersion)) return this.#waitForLaggard()',
    '',
  ),
  'an informer that a refusal ends': informer(
    'await this.#recover(error).catch(() => undefined)',
    'return',
  ),
  'a version that stays behind what was told': informer(
    "if (event.type === 'bookmark') return\n",
    "if (event.type === 'deleted') return\n    if (event.type === 'bookmark') return\n",
  ),
  'a lease that is taken without its version': election(
    'await api.replace(lease.kind, this.#mine(found, record), signal)',
    'await api.patch({ ref: lease, patch: { type: "merge", value: { spec: this.#mine(found, record)["spec"] } }, part: "object" }, signal)',
  ),
  'a leader that writes until the lease has run out for all': election(
    'return RENEW_WITHIN_MS - passedMs',
    'return LEASE_MS * 2 - passedMs',
  ),
  'a follower that waits for less than the lease': election(
    '>= Math.max(LEASE_MS, durationSeconds * 1000)',
    '>= 4000',
  ),
  'a renewal that counts from its answer on': election(
    'this.#renewed = begun',
    'this.#renewed = this.#now()',
  ),
  'a clock that stands still while the machine sleeps': election(
    'now.uptimeMs - this.#renewed.uptimeMs',
    '0',
  ),
  'a lease that changes hands and is not looked at anew': election(
    'if (this.#seen?.version !== metadata.resourceVersion) {',
    'if (this.#seen === undefined) {',
  ),
}

interface Schedules {
  readonly wrongOfQueue: WrongOf
  readonly wrongOfCache: WrongOf
  readonly wrongOfElection: WrongOf
}

const EXPORTS: Readonly<Record<Schedule, keyof Schedules>> = {
  queue: 'wrongOfQueue',
  cache: 'wrongOfCache',
  election: 'wrongOfElection',
}

describe('a defect of the operator', () => {
  for (const [what, defect] of Object.entries(DEFECTS)) {
    it(`is shown: ${what}`, async () => {
      const { shownBy } = defect
      const load = plantCopy(FOLDERS, defect)
      const schedules = await load<Schedules>(`test/support/operator/${shownBy}-schedule.ts`)
      const wrongOf = schedules[EXPORTS[shownBy]]

      expect(await firstSeed(wrongOf)).to.not.equal(undefined)
    }).timeout(0)
  }
})

/** The first seed whose schedule breaks an invariant. */
async function firstSeed(wrongOf: WrongOf): Promise<number | undefined> {
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    if ((await wrongOf(seed)) !== undefined) return seed
  }
  return undefined
}
