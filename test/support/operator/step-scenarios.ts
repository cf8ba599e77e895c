// What may come between a decision and its step, for every kind of step: each scenario answers with what went wrong.

import { isDeepStrictEqual } from 'node:util'
import { buildServiceError, ConnectionError } from '../../../clients/typescript/src/errors.ts'
import { EtcdRefusal } from '../../../operator/etcd/etcd-refusal.ts'
import type { StepContext } from '../../../operator/carry-out/step-context.ts'
import type { Step } from '../../../operator/machines/pass/decision.ts'
import type { FakeFault, Verb } from '../kubernetes/fake-faults.ts'
import type { StepRow } from './step-rows.ts'
import { StepWorld } from './step-world.ts'
import type { Plant } from './step-world.ts'

const WRITES: readonly Verb[] = ['create', 'replace', 'apply', 'patch', 'delete']
const CLUSTER = 'StoreCluster/books'

/** A decision that was made in a world, and is to be carried out. */
interface Decided {
  readonly row: StepRow
  readonly world: StepWorld
  readonly step: Step
  readonly context: StepContext
}

/** What went wrong; undefined if nothing did, or if the scenario is not about such a step. */
type Scenario = (decided: Decided) => Promise<string | undefined>

/** One after the other, so that who needs one alone stops there. */
export async function* problemsOf(
  kind: Step['kind'],
  row: StepRow,
  plant?: Plant,
): AsyncGenerator<string> {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    const world = await StepWorld.open(plant)
    await row.prepare?.(world)
    const step = await row.step(world)
    const decided = { row, world, step, context: await world.context() }
    const wrong = step.kind === kind ? await scenario(decided) : `the row asks for ${step.kind}`
    if (wrong !== undefined) yield `${kind}, ${name}: ${wrong}`
  }
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'nothing comes between': async (decided) => (await answer(decided, 'done')) ?? happened(decided),

  'the cluster is edited': (decided) =>
    nothingHappens(decided, 'outdated', (world) => world.touch(CLUSTER)),
  'the cluster is replaced': (decided) =>
    nothingHappens(decided, 'outdated', (world) => world.replace(CLUSTER)),
  'the cluster is gone': async (decided) => {
    await decided.world.remove(CLUSTER)
    const writes = decided.world.writes()
    const wrong = await answer(decided, 'outdated')
    return wrong ?? (decided.world.writes() === writes ? undefined : 'it has written')
  },

  'another object has the name': about(({ answers }, name) => ({
    expected: answers.replaced,
    comes: (world) => world.replace(name),
  })),
  'the object was changed': about(({ answers }, name) => ({
    expected: answers.changed,
    comes: (world) => world.touch(name),
  })),
  'the object is changed late': async (decided) => {
    const { row, world } = decided
    const { about: name } = row
    if (name === undefined) return undefined
    world.beforeWrite = () => world.touch(name)
    const wrong = await answer(decided, row.answers.changedLate)
    if (wrong !== undefined || row.answers.changedLate === 'done') return wrong
    return (await row.hasHappened(world)) ? 'it has happened to a changed object' : undefined
  },
  'the object is gone': async (decided) => {
    const { row, world } = decided
    if (row.about === undefined) return undefined
    await world.remove(row.about)
    const wrong = await answer(decided, row.answers.gone)
    return wrong ?? ((await world.get(row.about)) === undefined ? undefined : 'it was made again')
  },
  'what it makes is there': makes((world, name) => world.create(name)),
  'what it makes appears late': makes((world, name) => {
    world.beforeWrite = () => world.create(name)
  }),

  'a read fails': (decided) =>
    nothingHappens(decided, 'transient', ({ fake }) =>
      fake.faults.add({ verbs: ['get'], times: 1, status: 500 }),
    ),
  'a conflict is answered': refused({ status: 409, reason: 'Conflict' }, 'outdated'),
  'a lack of rights is answered': refused({ status: 403, reason: 'Forbidden' }, 'forbidden'),
  'an invalid object is answered': refused({ status: 422, reason: 'Invalid' }, 'invalid'),
  'a failure is answered': refused({ status: 500 }, 'transient'),
  'too many requests are answered': refused({ status: 429 }, 'throttled'),
  'nothing is answered, and nothing has happened': async (decided) => {
    const wrong = await refused({ status: 0 }, 'transient')(decided)
    return wrong ?? (await answer(decided, 'done')) ?? happened(decided)
  },
  'nothing is answered, and it has happened': async (decided) => {
    const { row, world } = decided
    if (row.server !== 'api') return undefined
    world.fake.faults.add({ verbs: WRITES, times: 1, status: 0, isDone: true })
    const wrong = (await answer(decided, 'transient')) ?? (await happened(decided))
    if (wrong !== undefined) return wrong
    const { version } = world.fake.store
    const again = await answer(decided, row.answers.again)
    return again ?? (world.fake.store.version === version ? undefined : 'it was done twice')
  },

  'the store has another operation': asked('store', storeError('CONFLICT', 409), 'outdated'),
  'the store has no such node': asked('store', storeError('NOT_FOUND', 404), 'outdated'),
  'the store is not able to': asked('store', storeError('UNAVAILABLE', 503), 'transient'),
  'the store forbids it': asked('store', storeError('FORBIDDEN', 403), 'transient'),
  'the store does not answer': asked('store', new ConnectionError('reset'), 'transient'),
  'the call of the store has a bug': asked('store', new TypeError('x'), 'bug'),
  'etcd may do it later': asked('etcd', new EtcdRefusal('again', 'x'), 'outdated'),
  'etcd does not answer': asked('etcd', new EtcdRefusal('unanswered', 'x'), 'transient'),
  'etcd refuses': asked('etcd', new EtcdRefusal('refused', 'x'), 'transient'),
  'the call of etcd has a bug': asked('etcd', new TypeError('x'), 'bug'),
  'it is asked for twice': async (decided) => {
    if (decided.row.server === 'api') return undefined
    await answer(decided, 'done')
    return answer(decided, decided.row.answers.again)
  },
}

async function answer(
  { world, step, context }: Decided,
  expected: string,
): Promise<string | undefined> {
  const answered = await world.carryOut(step, context)
  return answered === expected ? undefined : `answers ${answered} instead of ${expected}`
}

async function happened({ row, world }: Decided): Promise<string | undefined> {
  return (await row.hasHappened(world)) ? undefined : 'it has not happened'
}

/** Something comes, the answer is this, and nothing was written or asked for. */
async function nothingHappens(
  decided: Decided,
  expected: string,
  comes: (world: StepWorld) => unknown,
): Promise<string | undefined> {
  const { world } = decided
  await comes(world)
  const before = [world.writes(), world.store.calls.length, world.etcd.calls.length]
  const wrong = await answer(decided, expected)
  const after = [world.writes(), world.store.calls.length, world.etcd.calls.length]
  return wrong ?? (isDeepStrictEqual(before, after) ? undefined : 'it has happened')
}

/** Something comes to the object of the step, which stays as it is then if the step is outdated. */
function about(
  of: (
    row: StepRow,
    name: string,
  ) => { readonly expected: string; readonly comes: (world: StepWorld) => Promise<unknown> },
): Scenario {
  return async (decided) => {
    const { row, world } = decided
    if (row.about === undefined) return undefined
    const { expected, comes } = of(row, row.about)
    await comes(world)
    const before = await world.get(row.about)
    const wrong = await answer(decided, expected)
    if (wrong !== undefined) return wrong
    if (expected === 'done') return happened(decided)
    return isDeepStrictEqual(before, await world.get(row.about)) ? undefined : 'it was changed'
  }
}

function makes(comes: (world: StepWorld, name: string) => unknown): Scenario {
  return async (decided) => {
    const { row, world } = decided
    if (row.makes === undefined) return undefined
    await comes(world, row.makes)
    const wrong = await answer(decided, 'outdated')
    const { spec } = await world.must(row.makes)
    return wrong ?? (isDeepStrictEqual(spec, {}) ? undefined : 'it was taken over')
  }
}

/** The API answers so to the first write, and does not carry it out. */
function refused(fault: Omit<FakeFault, 'verbs' | 'times'>, expected: string): Scenario {
  return async (decided) => {
    const { row, world } = decided
    if (row.server !== 'api') return undefined
    world.fake.faults.add({ ...fault, verbs: WRITES, times: 1 })
    const wrong = await answer(decided, expected)
    return wrong ?? ((await row.hasHappened(world)) ? 'it has happened' : undefined)
  }
}

function asked(server: 'store' | 'etcd', failure: Error, expected: string): Scenario {
  return async (decided) => {
    if (decided.row.server !== server) return undefined
    decided.world[server].failure = failure
    return answer(decided, expected)
  }
}

function storeError(code: string, status: number): Error {
  const message = 'a refusal'
  return buildServiceError({
    message,
    code,
    status,
    headers: new Headers(),
    retryAfterMs: undefined,
    body: {},
  })
}
