import type { Command, WriteOp } from './command.ts'

const COMMAND_BYTES = 64
const OP_BYTES = 32

/** A rough size in memory and on disk, for the bounds of queues and groups. */
export function commandBytes(command: Command): number {
  switch (command.kind) {
    case 'write':
    case 'prepare': {
      let bytes = COMMAND_BYTES + command.checks.length * OP_BYTES
      for (const op of command.ops) bytes += opBytes(op)
      return bytes
    }
    case 'expire':
      return COMMAND_BYTES + command.candidates.length * OP_BYTES
    case 'retime':
      return COMMAND_BYTES + command.documents.length * OP_BYTES
    case 'collect':
      return COMMAND_BYTES + command.drops.length * OP_BYTES
    case 'decide':
    case 'resolve':
    case 'abandon':
    case 'forget':
      return COMMAND_BYTES
  }
}

function opBytes(op: WriteOp): number {
  return OP_BYTES + op.key.length + (op.kind === 'put' ? op.json.length : 0)
}
