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

/** How long writes may pause after a fault: the lease of 10 s and 2 s more, with room for a busy machine. */
export const FAILOVER_LIMIT_MS = 40_000

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
  if (lab.random() < 0.25) await node.startAndKill(lab.between(300, 4000))
  await node.start()
}
