import type { NodeId } from '../replication/core/configuration.ts'

/** Another node, and why it and this one cannot use each other; undefined: they can. */
export interface AskedNode {
  readonly id: NodeId
  /** Grows with each registration: the smaller one was there first. */
  readonly since: number
  readonly failure: string | undefined
}

/**
 * Why this node takes no replicas; undefined: it does. The nodes that can use each other are on one side, the others
 * on the other. The larger side is the cluster. Of two equal sides it is the one with the node that was there first,
 * so that a newcomer with a wrong secret does not put the only other node out of use. `self` is the age of this node.
 */
export function unreachedReason(self: number, asked: readonly AskedNode[]): string | undefined {
  const beyond = asked.filter(({ failure }) => failure !== undefined)
  const [first] = beyond
  if (first === undefined) return undefined
  const near = asked.filter(({ failure }) => failure === undefined)
  const difference = near.length + 1 - beyond.length
  const isOlder = Math.min(self, ...near.map(ageOf)) < Math.min(...beyond.map(ageOf))
  if (difference > 0 || (difference === 0 && isOlder)) return undefined
  const others = asked.length === 1 ? '1 other node' : `${asked.length} other nodes`
  return `${beyond.length} of ${others} and this one cannot use each other; ${first.id}: ${first.failure}`
}

function ageOf({ since }: AskedNode): number {
  return since
}
