import { systemClock } from '../../../../lib/clock.ts'
import type { ClusterLab } from '../cluster-lab.ts'
import type { LabNode } from '../lab-node.ts'

/** What a scenario acts on while the clients work. */
export interface Stage {
  readonly lab: ClusterLab
  /** The faults of one round end after about so long. */
  readonly lastsMs: number
  /** Resolves with the milliseconds until each workload had new acknowledgements; rejects after `limitMs`. */
  progress(limitMs: number): Promise<number>
  /** A line in the history and the output. */
  note(text: string): void
  /** Something that must not happen has happened. */
  finding(rule: string, description: string): void
}

/**
 * One row of the fault table.
 *
 * - `run` brings faults about, and waits. It need not heal what `ClusterLab.heal` heals.
 * - `undo` ends what is left: it runs also if `run` fails.
 */
export interface Scenario {
  /** The row of the fault table, with a letter if it has several. */
  readonly id: string
  readonly title: string
  /** What must hold beside the promises that the workloads check. */
  readonly holds: string
  run(stage: Stage): Promise<void>
  undo?(stage: Stage): Promise<void>
}

/** How many starts are killed before the one that is not. */
const KILLED_STARTS = [0, 1, 2, 3, 4]
const KILLED_START_MS = [200, 6000] as const

/**
 * A cluster that takes no write for so long is stuck. On a machine of its own writes pause for 12 s at most (the
 * lease and 2 s); how long they did is in the summary, because a busy machine breaks no promise.
 */
export const FAILOVER_LIMIT_MS = 120_000

export function untilOver(stage: Stage): () => boolean {
  const endMs = systemClock.monotonicMs() + stage.lastsMs
  return () => systemClock.monotonicMs() > endMs
}

export async function pauseFor(ms: number): Promise<void> {
  await systemClock.sleep(ms)
}

/** SIGKILL, a while, a start. Some starts are killed as well. */
export async function killAndStart(node: LabNode, { lab }: Stage, downMs: number): Promise<void> {
  await node.kill()
  await systemClock.sleep(downMs)
  await startAfterKills(node, lab)
}

/** Some starts are killed as well, wherever they are then, up to the moment at which the node serves. */
export async function startAfterKills(node: LabNode, lab: ClusterLab): Promise<void> {
  const kills = lab.pick(KILLED_STARTS)
  for (let i = 0; i < kills; i++) await node.startAndKill(lab.between(...KILLED_START_MS))
  await node.start()
}
