import { plantCopy, type Defect } from '../planted-copy.ts'
import { BrokenInvariant } from '../replication-checker.ts'
import type { ClusterFault } from './cluster-faults.ts'
import type { PlanOptions } from './cluster-plan.ts'
import type { ClusterSimulationOptions, simulateCluster } from './cluster-simulation.ts'

const SIMULATION = 'test/support/simulation/cluster/cluster-simulation.ts'

/** Defects show sooner among many clients. */
const CROWDED = { clients: 8, rounds: 4 }

/** A defect in `node`, and how it shows. */
export interface ClusterDefect extends Defect {
  /** Those that it needs to show soon. */
  readonly faults: readonly ClusterFault[]
  /** What clients do, where that is not everything. */
  readonly operations?: PlanOptions['operations']
  /** Tried first, because it showed the defect once. */
  readonly seed?: number
}

/** The history that is to show the defect. */
export function showing(
  { faults, operations }: ClusterDefect,
  seed: number,
): ClusterSimulationOptions {
  return { seed, faults, operations, ...CROWDED }
}

/** What showed the defect. */
export interface Discovery {
  readonly seed: number
  readonly message: string
}

/** Runs histories of a cluster with the defect until one breaks a promise; undefined if none does. */
export async function discover(
  defect: ClusterDefect,
  seedsMax: number,
): Promise<Discovery | undefined> {
  const copied = ['node', 'test/support']
  const load = plantCopy({ copied, linked: ['lib', 'door', 'openapi', 'node_modules'] }, defect)
  const simulation = await load<{ readonly simulateCluster: typeof simulateCluster }>(SIMULATION)
  const seeds = Array.from({ length: seedsMax }, (_, i) => i + 1)
  for (const seed of defect.seed === undefined ? seeds : [defect.seed, ...seeds]) {
    try {
      await simulation.simulateCluster(showing(defect, seed))
    } catch (error) {
      // The copy has a class of its own.
      if (!(error instanceof Error) || error.name !== BrokenInvariant.name) throw error
      return { seed, message: error.message }
    }
  }
  return undefined
}
