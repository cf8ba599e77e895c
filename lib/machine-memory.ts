import { totalmem } from 'node:os'

/** Bytes of memory that this process may use: the machine's, or the limit of its container if that is less. */
export function machineMemoryBytes(): number {
  const container = process.constrainedMemory() // 0, or beyond the machine: no limit
  return container > 0 ? Math.min(container, totalmem()) : totalmem()
}
