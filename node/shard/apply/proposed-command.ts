import { isSliced, type Sliced } from '../../../lib/sliced.ts'
import { applyCommand } from './apply-command.ts'
import type { ApplyContext } from './apply-context.ts'
import type { Command, CommandKind, OutcomeOf } from './command.ts'

/** A command on its way through the log, with the place for its own kind of outcome. */
export class ProposedCommand<Kind extends CommandKind = CommandKind> {
  readonly command: Command<Kind>
  #outcome: { readonly value: OutcomeOf[Kind] } | undefined

  constructor(command: Command<Kind>) {
    this.command = command
  }

  /** Applies the command at once, or answers the steps that do. */
  apply(context: ApplyContext): Sliced<void> | undefined {
    const applying = applyCommand(context, this.command)
    if (isSliced(applying)) return this.#end(applying)
    this.#outcome = { value: applying }
    return undefined
  }

  *#end(steps: Sliced<OutcomeOf[Kind]>): Sliced<void> {
    this.#outcome = { value: yield* steps }
  }

  /** Undefined until the command was applied. */
  get outcome(): { readonly value: OutcomeOf[Kind] } | undefined {
    return this.#outcome
  }
}
