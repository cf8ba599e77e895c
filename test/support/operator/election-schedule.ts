// Random schedules of candidates that stop, sleep, end and start again, and of an API that loses requests and answers.

import { ManualClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom } from '../../../lib/random.ts'
import type { Random } from '../../../lib/random.ts'
import { unansweredError } from '../../../operator/runtime/api/api-error.ts'
import type { KubernetesApi } from '../../../operator/runtime/api/kubernetes-api.ts'
import {
  LEASE_MS,
  LeaderElection,
  RETRY_MS,
} from '../../../operator/runtime/election/leader-election.ts'
import { FakeKubernetes } from '../kubernetes/fake-kubernetes.ts'
import { LEASES } from '../kubernetes/known-kinds.ts'
import { ProcessClock } from './process-clock.ts'
import { settle } from './settle.ts'

const STEPS = 240
const STEP_MS = 500
const CANDIDATES = 3
const LATE_MS = 7000
const LEASE = { kind: LEASES, namespace: 'test', name: 'operator' }

/** What the way between a process and the API does: nothing passes, or answers are late. */
type Link = { kind: 'open' | 'cut' | 'slow' }

interface Candidate {
  readonly clock: ProcessClock
  readonly link: Link
  readonly election: LeaderElection
  hasEnded: boolean
}

/** The first invariant that the schedule of a seed breaks; undefined if none. */
export async function wrongOfElection(seed: number): Promise<string | undefined> {
  return new Schedule(seededRandom(seed)).run()
}

class Schedule {
  readonly #random: Random
  readonly #world = new ManualClock()
  readonly #api = new FakeKubernetes(this.#world, [LEASES])
  #candidates: Candidate[] = []
  #started = 0

  constructor(random: Random) {
    this.#random = random
    for (let at = 0; at < CANDIDATES; at++) this.#candidates.push(this.#start())
  }

  async run(): Promise<string | undefined> {
    for (let step = 0; step < STEPS; step++) {
      if (this.#random() < 0.1) this.#disturb()
      await this.#pass()
      const wrong = this.#wrongOfLeaders()
      if (wrong !== undefined) return `${wrong} at step ${step}`
    }
    return this.#wrongAfterFaults()
  }

  /** Candidates without faults elect a leader in time, and keep it. */
  async #wrongAfterFaults(): Promise<string | undefined> {
    this.#api.faults.clear()
    this.#world.advance(30_000) // what goes wrong for a while is over
    for (const { clock, link } of this.#candidates) {
      clock.resume()
      link.kind = 'open'
    }
    for (let atMs = 0; atMs <= LEASE_MS * 2 + RETRY_MS * 4; atMs += STEP_MS) {
      await this.#pass()
      const wrong = this.#wrongOfLeaders()
      if (wrong !== undefined) return wrong
    }
    const leader = this.#leaders()[0]
    if (leader === undefined) return 'nobody leads after the faults'
    for (let atMs = 0; atMs <= LEASE_MS * 3; atMs += STEP_MS) {
      await this.#pass()
      if (this.#leaders()[0] !== leader) return 'a leader without faults does not stay'
    }
    await Promise.all(this.#candidates.map(({ election }) => election.release()))
    return undefined
  }

  /** Something goes wrong for a while: mostly for the leader, to whom it matters. */
  #disturb(): void {
    const candidate = (this.#random() < 0.7 ? this.#leaders()[0] : undefined) ?? this.#any()
    const { clock, link, election } = candidate
    const forMs = 1000 + Math.floor(this.#random() * 25_000)
    const random = this.#random()
    if (random < 0.4 && clock.mode === 'running') {
      clock.mode = this.#random() < 0.5 ? 'stopped' : 'asleep'
      this.#world.after(forMs, () => clock.resume())
    } else if (random < 0.7) {
      link.kind = this.#random() < 0.5 ? 'cut' : 'slow'
      this.#world.after(forMs, () => (link.kind = 'open'))
    } else if (random < 0.8) {
      const isDone = this.#random() < 0.5
      const times = 1 + Math.floor(this.#random() * 8)
      this.#api.faults.add({ verbs: ['get', 'replace', 'create'], times, status: 0, isDone })
    } else if (random < 0.9) {
      const release = this.#api.hold()
      this.#world.after(forMs / 4, release)
    } else if (clock.mode === 'running') {
      void election.release()
      candidate.hasEnded = true
    }
  }

  #any(): Candidate {
    return this.#candidates[Math.floor(this.#random() * CANDIDATES)]!
  }

  async #pass(): Promise<void> {
    this.#world.advance(STEP_MS)
    for (const { clock } of this.#candidates) clock.advance(STEP_MS)
    await settle()
    this.#candidates = this.#candidates.map((one) => (this.#isOver(one) ? this.#start() : one))
    await settle()
  }

  /** A process that has lost its leadership ends, and is started again. */
  #isOver({ clock, election, hasEnded }: Candidate): boolean {
    return clock.mode === 'running' && (hasEnded || election.state === 'lost')
  }

  /** LE1, LE6: a process that runs asks the gate before each write. */
  #wrongOfLeaders(): string | undefined {
    const leaders = this.#leaders().length
    return leaders > 1 ? `LE1: ${leaders} processes may write` : undefined
  }

  #leaders(): readonly Candidate[] {
    const running = this.#candidates.filter(({ clock }) => clock.mode === 'running')
    return running.filter(({ election }) => election.isLeading())
  }

  #start(): Candidate {
    this.#started += 1
    const clock = new ProcessClock()
    const link: Link = { kind: 'open' }
    const election = new LeaderElection({
      api: delayed(this.#api, clock, link),
      clock,
      random: this.#random,
      log: silentLog,
      lease: LEASE,
      identity: `process-${this.#started}`,
    })
    election.start()
    return { clock, link, election, hasEnded: false }
  }
}

/** A process that stands still hears of an answer when it runs again. */
function delayed(api: KubernetesApi, clock: ProcessClock, link: Link): KubernetesApi {
  const heard = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      const told = await answer
      if (link.kind === 'cut') throw unansweredError(new Error('cut'))
      if (link.kind === 'slow') await clock.sleep(LATE_MS)
      return told
    } finally {
      await clock.running()
    }
  }
  return {
    list: (selection, page, signal) => heard(api.list(selection, page, signal)),
    watch: (request, signal) => api.watch(request, signal),
    get: (ref, signal) => heard(api.get(ref, signal)),
    create: (kind, object, signal) => heard(api.create(kind, object, signal)),
    replace: (kind, object, signal) => heard(api.replace(kind, object, signal)),
    apply: (request, signal) => heard(api.apply(request, signal)),
    patch: (request, signal) => heard(api.patch(request, signal)),
    delete: (request, signal) => heard(api.delete(request, signal)),
  }
}
