/** A number from a name, so that ties are broken alike in every run and otherwise for each pair. */
export function seedOf(name: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/**
 * The rank of a node for a shard among equals. Without it the same nodes would share all their shards,
 * and the loss of one of them would burden few others.
 */
export function tieBreak(shardSeed: number, nodeSeed: number): number {
  let mixed = Math.imul(shardSeed ^ (nodeSeed >>> 3), 0x9e3779b1) ^ nodeSeed
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
  return (mixed ^ (mixed >>> 13)) >>> 0
}
