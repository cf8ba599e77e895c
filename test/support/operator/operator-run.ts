// The operator over a modelled world: passes that may end anywhere, caches that may be behind, people and faults.

import type { Random } from '../../../lib/random.ts'
import type { Decision } from '../../../operator/machines/pass/decision.ts'
import type { Observed } from '../../../operator/machines/observed/observed.ts'
import { NO_MODELS, START_MS } from './modelled-kubernetes.ts'
import { BrokenInvariant } from './modelled-store.ts'
import { World } from './world.ts'

export type Decide = (observed: Observed) => Decision

/** Where a pass ends before its end. `status_lost`: the step happened, and the write of the status did not. */
export type Crash = 'none' | 'before_step' | 'status_lost'

export interface PassOptions {
  readonly crash?: Crash
  readonly behind?: { readonly cluster: number; readonly nodes: number; readonly etcd: number }
}

const FRESH = { cluster: 0, nodes: 0, etcd: 0 }

/** A pass takes time: no two of them begin at the same moment. */
export function runPass(world: World, decide: Decide, options: PassOptions = {}): Decision {
  world.kubernetes.nowMs += 1
  const observed = world.observe(options.behind ?? FRESH)
  const decision = decideSurely(decide, observed)
  if (options.crash === 'before_step') return decision
  const { step, status } = decision
  const uid = world.cluster.uid
  if (step !== undefined && !world.apply(observed, step)) return decision
  if (options.crash === 'status_lost' || world.cluster.uid !== uid) return decision
  const before = world.cluster.status?.operation?.id
  if (!world.writeStatus(observed, status)) return decision
  checkOperation(world, before)
  return decision
}

/** DC1. */
function decideSurely(decide: Decide, observed: Observed): Decision {
  try {
    return decide(observed)
  } catch (error) {
    throw new BrokenInvariant(`DC1: ${error instanceof Error ? error.stack : String(error)}`)
  }
}

function checkOperation(world: World, before: string | undefined): void {
  const after = world.cluster.status?.operation?.id
  if (before !== undefined && before !== after) world.ended.add(before)
  if (after !== undefined && world.ended.has(after)) {
    throw new BrokenInvariant('CH1: an operation that was over came back')
  }
}

/** What people and the world do to a cluster. */
export const DISTURBANCE_KINDS = [
  'scale',
  'scale_etcd',
  'template',
  'bad_template',
  'bad_models',
  'hibernate',
  'grow',
  'auto_grow',
  'fill_volume',
  'slow_volume',
  'policy',
  'pause',
  'delete',
  'delete_set',
  'edit_set',
  'crash_pod',
  'evict_pod',
  'lose_node',
  'lose_claim',
  'lose_etcd_claim',
  'stuck_store',
  'unreachable_store',
  'etcd_alarm',
] as const

export type Disturbance = (typeof DISTURBANCE_KINDS)[number]

type Disturb = (world: World, random: Random) => void

const pick = <T>(random: Random, from: readonly T[]): T | undefined =>
  from[Math.floor(random() * from.length)]

export const DISTURBANCES: Readonly<Record<Disturbance, Disturb>> = {
  scale: (world, random) => world.edit({ replicas: 2 + Math.floor(random() * 4) }),
  scale_etcd: (world, random) => world.edit({ etcdReplicas: pick(random, [1, 3, 5]) ?? 3 }),
  template: (world, random) => world.edit({ digest: `t${Math.floor(random() * 5)}` }),
  bad_template: (world, random) => world.edit({ digest: `bad${Math.floor(random() * 2)}` }),
  bad_models: (world, random) => world.edit({ digest: `${NO_MODELS}${Math.floor(random() * 2)}` }),
  hibernate: (world) => world.edit({ hibernate: !world.cluster.wish.hibernate }),
  grow: (world) => world.edit({ bytes: world.cluster.wish.bytes + 50 }),
  auto_grow: (world, random) => {
    const { bytes } = world.cluster.wish
    const limits = { thresholdPercent: 85, incrementBytes: 30 }
    const isOff = random() < 0.2
    const maxBytes = bytes + (pick(random, [10, 40, 300]) ?? 300)
    world.edit({ autoGrow: isOff ? undefined : { ...limits, maxBytes } })
  },
  fill_volume: (world, random) => {
    const claims = world.kubernetes.claims.filter(({ pool }) => pool === 'nodes')
    const claim = pick(random, claims)
    if (claim !== undefined) claim.usedBytes = claim.capacity * (0.5 + random() / 2)
  },
  slow_volume: (world, random) => {
    const claim = pick(random, world.kubernetes.claims)
    if (claim !== undefined) claim.isSlow = !claim.isSlow
  },
  policy: (world) => world.edit({ deletesClaims: !world.cluster.wish.deletesClaims }),
  pause: (world) => {
    world.overrides = { ...world.overrides, isPaused: !world.overrides.isPaused }
    world.cluster.version += 1
  },
  // A store whose data was deleted begins again, which the model of one store does not show.
  delete: (world) => {
    if (!world.cluster.wish.deletesClaims) world.delete()
  },
  delete_set: (world) => {
    const set = world.kubernetes.sets.nodes
    if (set === undefined) return
    set.isDeleting = true
    set.keepsPods = true
  },
  edit_set: (world, random) => {
    const set = world.kubernetes.sets.nodes
    if (set === undefined || set.replicas === 0) return
    set.replicas = Math.max(2, set.replicas + (random() < 0.5 ? 1 : -1))
    set.version += 1
    set.generation += 1
  },
  crash_pod: (world, random) => {
    const pod = pick(random, world.kubernetes.pods)
    if (pod !== undefined) pod.downUntilMs = world.nowMs + START_MS
  },
  evict_pod: (world, random) => {
    const pod = pick(random, world.kubernetes.pods)
    if (pod !== undefined) world.kubernetes.stop(pod)
  },
  lose_node: (world, random) => {
    const pod = pick(random, world.kubernetes.pods)
    if (pod !== undefined) pod.downUntilMs = world.nowMs + 20 * START_MS
  },
  lose_claim: (world, random) => {
    const claims = world.kubernetes.claims.filter(({ pool }) => pool === 'nodes')
    const claim = pick(random, claims)
    // Only what people may lose without losing data: the operator is not to blame for the rest.
    if (claim === undefined || !world.store.isSpared(claim.uid)) return
    claim.isDeleting = true
    const pod = world.kubernetes.pods.find(({ claimUID }) => claimUID === claim.uid)
    if (pod !== undefined) world.kubernetes.stop(pod)
  },
  lose_etcd_claim: (world) => {
    const view = world.etcd.view(world.nowMs)
    const isWell = view !== 'unreachable' && view.members.every(({ isHealthy }) => isHealthy)
    const claims = world.kubernetes.claims.filter(({ pool }) => pool === 'etcd')
    const claim = claims.at(-1)
    if (!isWell || claim === undefined || claims.length < 3) return
    claim.isDeleting = true
    const pod = world.kubernetes.pods.find(({ claimUID }) => claimUID === claim.uid)
    if (pod !== undefined) world.kubernetes.stop(pod)
  },
  stuck_store: (world) => (world.store.isStuck = !world.store.isStuck),
  unreachable_store: (world) => (world.store.isUnreachable = !world.store.isUnreachable),
  etcd_alarm: (world) => {
    for (const member of world.etcd.members) {
      member.hasAlarm = true
      member.dbBytes = 2000 * 1024 * 1024
    }
  },
}

/** No more disturbance: what was switched off is switched on, and nobody edits anything. */
export function calm(world: World): void {
  world.store.isStuck = false
  world.store.isUnreachable = false
  for (const claim of world.kubernetes.claims) claim.isSlow = false
  for (const pod of world.kubernetes.pods) pod.downUntilMs = Math.min(pod.downUntilMs, world.nowMs)
  if (world.overrides.isPaused) DISTURBANCES.pause(world, () => 0)
}

const QUIET_TICKS_MAX = 1500
const SETTLED_PASSES = 8

/** Runs until nothing happens any more, and answers with the last decision. */
export function settle(world: World, decide: Decide): Decision {
  let quiet = 0
  for (let tick = 0; tick < QUIET_TICKS_MAX; tick++) {
    const before = world.cluster.status
    const decision = runPass(world, decide)
    const isQuiet =
      decision.step === undefined && decision.status === world.observe(FRESH).cluster.status
    quiet =
      isQuiet || (decision.step === undefined && same(before, decision.status)) ? quiet + 1 : 0
    const isOver =
      decision.status.operation === undefined ||
      isExplicit(decision) ||
      isLeftToPeople(world, decision)
    if (quiet >= SETTLED_PASSES && isOver) return decision
    world.tick()
  }
  const { status } = world.cluster
  const told = JSON.stringify([status?.operation, status?.conditions], null, 1)
  throw new BrokenInvariant(`it did not settle: ${told}`)
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** Every pod crashes by a template that only people can mend: what else they ask for waits, and the reason is told. */
function isLeftToPeople(world: World, { status }: Decision): boolean {
  const degraded = status.conditions?.find(({ type }) => type === 'Degraded')
  return hasBadTemplate(world) && degraded?.reason === 'CrashLooping'
}

/** Ready as the spec says, or a reason why not. */
export function isExplicit({ status }: Decision): boolean {
  const find = (type: string) => status.conditions?.find((one) => one.type === type)
  if (find('Ready')?.status === 'True' || find('Hibernated')?.reason === 'Hibernated') return true
  const reason = find('Progressing')?.reason
  if (reason === 'Blocked' || reason === 'Stalled') return true
  // A member whose volume was lost before anybody recorded it is left to people.
  return find('EtcdReady')?.reason === 'MemberLost' || find('EtcdReady')?.reason === 'AlarmNoSpace'
}

export interface Simulation {
  readonly random: Random
  readonly decide: Decide
  readonly disturbances: readonly Disturbance[]
  readonly ticks: number
  readonly replicationFactor: number
}

/** Random disturbances and crashes, then quiet; answers with the decision that it settles with. */
export function simulate({
  random,
  decide,
  disturbances,
  ticks,
  replicationFactor,
}: Simulation): Decision {
  const world = new World({ replicationFactor, keepsHistory: true })
  settle(world, decide)
  for (let tick = 0; tick < ticks; tick++) {
    if (random() < 0.12) {
      const kind = pick(random, disturbances)
      world.kubernetes.nowMs += 1
      if (kind !== undefined) DISTURBANCES[kind](world, random)
    }
    const passes = Math.floor(random() * 4)
    for (let pass = 0; pass < passes; pass++) runPass(world, decide, chance(random))
    world.tick()
  }
  calm(world)
  const settled = settle(world, decide)
  if (!hasBadTemplate(world)) return settled
  world.edit({ digest: 'good' })
  return settle(world, decide)
}

/** One that the cluster cannot follow to its end. */
export function hasBadTemplate({ cluster: { wish } }: World): boolean {
  return wish.digest.includes('bad') || wish.digest.includes(NO_MODELS)
}

function chance(random: Random): PassOptions {
  const crash = random() < 0.15 ? (random() < 0.5 ? 'before_step' : 'status_lost') : 'none'
  const behind = () => (random() < 0.2 ? 1 + Math.floor(random() * 3) : 0)
  return { crash, behind: { cluster: behind(), nodes: behind(), etcd: behind() } }
}
