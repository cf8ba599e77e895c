import type { WriteCommand, WriteOp } from './command.ts'

export const COMMAND_BYTES = 64
const ITEM_BYTES = 32

/** A rough size in memory and on disk, for the bounds of queues and groups. */
export function writeBytes({ checks, ops }: Pick<WriteCommand, 'checks' | 'ops'>): number {
  let bytes = COMMAND_BYTES + checks.length * ITEM_BYTES
  for (const op of ops) bytes += opBytes(op)
  return bytes
}

function opBytes(op: WriteOp): number {
  return ITEM_BYTES + op.key.length + (op.kind === 'put' ? op.json.length : 0)
}
