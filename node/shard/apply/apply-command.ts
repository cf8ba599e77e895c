import type { ApplyContext } from './apply-context.ts'
import { applyCollect, applyExpire, applyRetime, applySync } from './apply-housekeeping.ts'
import {
  applyAbandon,
  applyDecide,
  applyForget,
  applyPrepare,
  applyResolve,
  applyWrite,
} from './apply-transaction.ts'
import type { Command, CommandKind, OutcomeOf } from './command.ts'

const APPLY: {
  readonly [Kind in CommandKind]: (context: ApplyContext, command: Command<Kind>) => OutcomeOf[Kind]
} = {
  write: applyWrite,
  prepare: applyPrepare,
  decide: applyDecide,
  resolve: applyResolve,
  abandon: applyAbandon,
  forget: applyForget,
  expire: applyExpire,
  retime: applyRetime,
  collect: applyCollect,
  sync: applySync,
}

/**
 * The state machine of a shard: one command against one state gives one outcome and one set of
 * effects. Reads no clock, no randomness and nothing outside the context (DESIGN 5.2).
 */
export function applyCommand<Kind extends CommandKind>(
  context: ApplyContext,
  command: Command<Kind>,
): OutcomeOf[Kind] {
  const kind: Kind = command.kind
  return APPLY[kind](context, command)
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
  sync: false,
}

/**
 * Commands that may be written without a sync: if the power fails before a later sync has covered
 * them, they are found undone and are done again. A transaction's record goes only after `sync`
 * on every participant (INV-T6).
 */
export const IS_LAZY: Record<CommandKind, boolean> = {
  write: false,
  prepare: false,
  decide: false,
  resolve: true,
  abandon: false,
  forget: true,
  expire: true,
  retime: true,
  collect: true,
  sync: false,
}
