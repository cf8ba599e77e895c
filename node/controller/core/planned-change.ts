import type { Change, Commit, Condition } from '../../coordination/coordination.ts'
import {
  configurationKey,
  encodeConfiguration,
  encodeMove,
  moveKey,
  type ShardPath,
} from './records/cluster-codec.ts'
import type { PlannedRecords } from './view/shard-view.ts'
import type { Step, StepKind } from './decisions/step.ts'

/** A commit for the coordination store, and why. */
export interface PlannedChange {
  /** Unique; the changed records bear it, so that a lost answer can be told from a lost race. */
  readonly operation: string
  readonly kind: StepKind
  readonly path: ShardPath
  /** A sentence for an operator. */
  readonly reason: string
  readonly commit: Commit
}

/** The change of a step. It holds for the revisions of the shard's keys that the step was decided on. */
export function plannedChange(step: Step, operation: string, fence: Condition): PlannedChange {
  const { shard, kind, reason, when } = step
  const { path, known, exists } = shard
  const own: Condition[] = [
    { key: configurationKey(path), modRevision: known.configuration?.revision ?? 0 },
    { key: moveKey(path), modRevision: known.moveRevision },
  ]
  // A shard that was dropped meanwhile must not get a configuration again.
  if (kind === 'place' && exists !== undefined) own.push(exists)
  const commit = { when: [fence, ...own, ...when], changes: changesOf(step, operation) }
  return { operation, kind, path, reason, commit }
}

/** The shard's records when the step has been committed, but for their revisions. */
export function recordsAfter(
  step: Step,
  operation: string,
): Omit<PlannedRecords, 'operation' | 'sinceMs'> {
  const { configuration, move, shard } = step
  const { known } = shard
  const revision = known.configuration?.revision ?? 0
  return {
    changes: { configuration: configuration !== undefined, move: move !== undefined },
    configuration:
      configuration === undefined
        ? known.configuration
        : configuration === 'delete'
          ? undefined
          : { ...configuration, operation, revision },
    move: move === undefined ? known.move : move === 'delete' ? undefined : { ...move, operation },
    moveRevision: known.moveRevision,
  }
}

function changesOf({ shard, configuration, move }: Step, operation: string): readonly Change[] {
  const changes: Change[] = []
  const key = configurationKey(shard.path)
  if (configuration === 'delete') changes.push({ type: 'delete', key })
  else if (configuration !== undefined) {
    const value = encodeConfiguration({ ...configuration, operation })
    changes.push({ type: 'put', key, value })
  }
  if (move === 'delete') changes.push({ type: 'delete', key: moveKey(shard.path) })
  else if (move !== undefined) {
    const value = encodeMove({ ...move, operation })
    changes.push({ type: 'put', key: moveKey(shard.path), value })
  }
  return changes
}
