import { isSliced, type Sliced } from '../../../lib/sliced.ts'
import { applyCommand } from './apply-command.ts'
import type { ApplyContext } from './apply-context.ts'
import type { Command, CommandKind, OutcomeOf } from '../command/command.ts'
import type { TableSettings } from '../command/table-settings.ts'

/** The settings of the table when a command was proposed. */
export type CommandSettings = Pick<TableSettings, 'rules' | 'ttl' | 'indexes'>

/**
 * A command on its way through the log, with the place for its own kind of outcome. It is applied under
 * the settings of its proposal: applying reads nothing that may change while it waits.
 */
export class ProposedCommand<Kind extends CommandKind = CommandKind> {
  readonly command: Command<Kind>
  readonly settings: CommandSettings
  #outcome: { readonly value: OutcomeOf[Kind] } | undefined

  constructor(command: Command<Kind>, { rules, ttl, indexes }: CommandSettings) {
    this.command = command
    this.settings = { rules, ttl, indexes }
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
