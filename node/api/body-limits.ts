// How long the bodies of operations may be.

const MIB = 1024 * 1024

/**
 * Bodies that are parsed in one step are shorter than those that hold documents, which are walked in
 * slices.
 */
const PARSED_BYTES_MAX: ReadonlyMap<string, number> = new Map([
  ['createTable', 2 * MIB],
  ['updateTableSchema', 2 * MIB],
  ['createIndex', MIB],
  ['moveReplica', MIB],
  ['transferLeader', MIB],
  // Lists of 65,536 values.
  ['scanTable', 4 * MIB],
  // A hundred queries in lines; each has a limit of its own.
  ['queryTable', 16 * MIB],
  ['queryGlobal', 16 * MIB],
])

export function bodyBytesMaxOf(operationId: string, bytesMax: number): number {
  return Math.min(bytesMax, PARSED_BYTES_MAX.get(operationId) ?? Infinity)
}
