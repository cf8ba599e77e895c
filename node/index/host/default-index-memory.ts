const MIB = 1024 * 1024
/** There are three kinds of indexes, each with a bound of its own. */
const PART_OF_MACHINE = 8
const DEFAULT_MAX = 2048 * MIB
export const INDEX_MEMORY_BYTES_MIN = 16 * MIB

/** What the indexes of one kind may keep in a node's memory: an eighth of the machine's, at most 2 GiB. */
export function defaultIndexMemoryBytes(machineBytes: number): number {
  const share = Math.floor(machineBytes / PART_OF_MACHINE)
  return Math.max(INDEX_MEMORY_BYTES_MIN, Math.min(share, DEFAULT_MAX))
}
