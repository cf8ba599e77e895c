import type { ReasonOf } from '../../kinds/cluster/conditions.ts'
import type { Pass } from '../pass/pass.ts'
import { versionProblem } from './version-change.ts'

/** Why a spec is not followed. */
export interface SpecVerdict {
  readonly reason: ReasonOf<'SpecValid'>
  readonly message: string
}

/** Why the spec is not followed; `undefined` if it is. */
export function specProblem(pass: Pass): SpecVerdict | undefined {
  const { children, specProblems } = pass.observed
  if (children.foreign.length > 0) {
    const message = `of another owner: ${children.foreign.join(', ')}`
    return { reason: 'NameConflict', message }
  }
  const [first] = specProblems
  if (first !== undefined) {
    return { reason: first.reason, message: `${first.field}: ${first.message}` }
  }
  const version = badVersion(pass)
  return version === undefined
    ? undefined
    : { reason: 'UnsupportedVersionChange', message: version }
}

/** What runs is asked of the nodes; the template tells it while none answers. */
function badVersion({ observed }: Pass): string | undefined {
  const { store, nodes, desired, cluster } = observed
  const running = store === 'unreachable' ? [] : store.nodes.flatMap(({ version }) => version ?? [])
  const lowest = running.toSorted(byVersion)[0] ?? nodes.set?.template.version
  return versionProblem(lowest, desired.template.version, cluster.overrides)
}

export function byVersion(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true })
}
