import type { ApplyContext } from './apply-context.ts'
import { applyCollect, applyExpire, applyRetime } from './apply-housekeeping.ts'
import {
  applyAbandon,
  applyDecide,
  applyForget,
  applyPrepare,
  applyResolve,
  applyWrite,
} from './apply-transaction.ts'
import type { Command, CommandKind, OutcomeOf } from './command.ts'

export type Outcome = OutcomeOf[CommandKind]

/**
 * The state machine of a shard: one command against one state gives one outcome and one set of
 * effects. Reads no clock, no randomness and nothing outside the context (DESIGN 5.2).
 */
export function applyCommand(context: ApplyContext, command: Command): Outcome {
  switch (command.kind) {
    case 'write':
      return applyWrite(context, command)
    case 'prepare':
      return applyPrepare(context, command)
    case 'decide':
      return applyDecide(context, command)
    case 'resolve':
      return applyResolve(context, command)
    case 'abandon':
      return applyAbandon(context, command.transactionId)
    case 'forget':
      return applyForget(context, command)
    case 'expire':
      return applyExpire(context, command)
    case 'retime':
      return applyRetime(context, command)
    case 'collect':
      return applyCollect(context, command)
  }
}

/**
 * Commands whose consequences in memory wait until they are durable (LockTable L3). Nothing else may
 * follow them in a group, or it would be applied against holds that are about to go.
 */
export const ENDS_GROUP: Record<CommandKind, boolean> = {
  write: false,
  prepare: false,
  decide: false,
  resolve: true,
  abandon: true,
  forget: true,
  expire: false,
  retime: false,
  collect: false,
}
