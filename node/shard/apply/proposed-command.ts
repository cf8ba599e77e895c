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

  apply(context: ApplyContext): void {
    this.#outcome = { value: applyCommand(context, this.command) }
  }

  /** Undefined until the command was applied. */
  get outcome(): { readonly value: OutcomeOf[Kind] } | undefined {
    return this.#outcome
  }
}
