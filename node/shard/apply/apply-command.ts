import { isSliced, type Sliced } from '../../../lib/sliced.ts'
import type { ApplyContext } from './apply-context.ts'
import { applyEnrich } from './apply-enrichment.ts'
import { applyCollect, applyExpire, applyNumber, applyRetime } from './apply-housekeeping.ts'
import {
  applyAbandon,
  applyDecide,
  applyForget,
  applyPrepare,
  applyResolve,
  applyWrite,
} from './apply-transaction.ts'
import type { Command, CommandKind, OutcomeOf } from '../command/command.ts'
import { assertOwnsKeysOf } from './owned-keys.ts'

/** The outcome, or the steps to it where a command may be long. */
export type Applying<Kind extends CommandKind> = OutcomeOf[Kind] | Sliced<OutcomeOf[Kind]>

const APPLY: {
  readonly [Kind in CommandKind]: (context: ApplyContext, command: Command<Kind>) => Applying<Kind>
} = {
  write: applyWrite,
  prepare: applyPrepare,
  decide: applyDecide,
  resolve: applyResolve,
  abandon: applyAbandon,
  forget: applyForget,
  expire: applyExpire,
  retime: applyRetime,
  number: applyNumber,
  collect: applyCollect,
  enrich: applyEnrich,
}

/**
 * The state machine of a shard: one command against one state gives one outcome and one set of
 * effects. Reads no clock, no randomness and nothing outside the context. Throws RANGE_MOVED, before anything else,
 * if another shard owns a key of the command.
 */
export function applyCommand<Kind extends CommandKind>(
  context: ApplyContext,
  command: Command<Kind>,
): Applying<Kind> {
  const kind: Kind = command.kind
  const checking = assertOwnsKeysOf(context.range, command)
  return checking === undefined
    ? APPLY[kind](context, command)
    : applyAfter(checking, context, command)
}

function* applyAfter<Kind extends CommandKind>(
  checking: Sliced<void>,
  context: ApplyContext,
  command: Command<Kind>,
): Sliced<OutcomeOf[Kind]> {
  yield* checking
  const kind: Kind = command.kind
  const applying = APPLY[kind](context, command)
  return isSliced(applying) ? yield* applying : applying
}
