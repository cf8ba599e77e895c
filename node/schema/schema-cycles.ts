// Finds chains of schemas that apply each other to the same value. Each chain must end after few
// schemas.

import { refuse } from './schema-members.ts'
import type { SchemaNode } from './schema-node.ts'

/** How many schemas may apply each other to one value. */
const CHAIN_MAX = 64

/** Throws INVALID_ARGUMENT for a schema whose chain has no end or is too long. */
export function checkChains(nodes: readonly SchemaNode[], where: string): void {
  const lengths = new Map<SchemaNode, number>()
  for (const node of nodes) measure(node, { lengths, open: new Set(), where })
}

interface Measuring {
  /** The length of the longest chain that begins at a node. */
  readonly lengths: Map<SchemaNode, number>
  readonly open: Set<SchemaNode>
  readonly where: string
}

function measure(node: SchemaNode, measuring: Measuring): number {
  const { lengths, open, where } = measuring
  const known = lengths.get(node)
  if (known !== undefined) return known
  if (open.has(node)) {
    refuse(where, `#${node.place} refers to itself without going deeper into the document`)
  }
  open.add(node)
  if (open.size > CHAIN_MAX) {
    refuse(where, `#${node.place} applies more than ${CHAIN_MAX} schemas to one value in a row`)
  }
  const inner = appliedBy(node).map((next) => measure(next, measuring))
  open.delete(node)
  const length = 1 + Math.max(0, ...inner)
  if (length > CHAIN_MAX) {
    refuse(where, `#${node.place} applies more than ${CHAIN_MAX} schemas to one value in a row`)
  }
  lengths.set(node, length)
  return length
}

function appliedBy({ rules }: SchemaNode): readonly SchemaNode[] {
  const { combination, object } = rules ?? {}
  const { all = [], anyOf = [], oneOf = [], not, condition } = combination ?? {}
  const single = [not, condition?.test, condition?.whenTrue, condition?.whenFalse]
  return [
    ...all,
    ...anyOf,
    ...oneOf,
    ...single.filter((node) => node !== undefined),
    ...[...(object?.dependentSchemas.values() ?? [])].flat(),
  ]
}
