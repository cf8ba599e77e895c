// The commands `lookup` and `delete`, for documents by key.

import type { Command } from 'commander'
import { ownCommand } from '../../lib/own-command.ts'
import { lookupPath, tablePath, type LookupParameters } from '../service/api-client.ts'
import { newIdempotencyKey } from '../service/idempotency-key.ts'
import type { CliContext } from '../process/context.ts'
import { prettyJson } from '../render/json-text.ts'
import { plural } from '../render/quantity.ts'
import { paint, writeLine } from '../process/terminal.ts'
import { clientCommand, examples, openClient, STALE_OPTION } from './client-command.ts'
import type { ClientOptions } from './client-command.ts'

export function addLookupCommand(program: Command, context: CliContext): void {
  clientCommand(program.command('lookup <table> <key>'), context)
    .summary('print one document')
    .description('Print one document. Its version goes to standard error.')
    .option('--fields <list>', 'only these fields, comma separated: title,author.name,-body')
    .option(...STALE_OPTION)
    .addHelpText(
      'after',
      examples(
        ['the whole document', ownCommand('lookup books book/1')],
        ['two fields', ownCommand('lookup books book/1 --fields title,author.name')],
        ['with its version, for a program', ownCommand('lookup books book/1 --json')],
      ),
    )
    .action(async (table: string, key: string, options: ClientOptions & LookupParameters) => {
      const { out, err } = context.terminal
      const path = lookupPath(table, key, options)
      const { text, version } = await openClient(options, context).request({ method: 'GET', path })
      if (options.json === true) {
        const head = JSON.stringify({ key, version: version ?? null }).slice(0, -1)
        return writeLine(out, `${head},"document":${text.trim()}}`)
      }
      await writeLine(out, out.isTty ? prettyJson(text, out) : text.trim())
      return writeLine(err, paint(err, 'dim', `version ${version ?? 'unknown'}`))
    })
}

export function addDeleteCommand(program: Command, context: CliContext): void {
  clientCommand(program.command('delete <table> <keys...>'), context)
    .summary('delete documents')
    .description('Delete documents, all of them or none. Missing documents are ignored.')
    .addHelpText(
      'after',
      examples(['two documents at once', ownCommand('delete books book/1 book/2')]),
    )
    .action(async (table: string, keys: readonly string[], options: ClientOptions) => {
      const answer = await openClient(options, context).request({
        method: 'POST',
        path: `${tablePath(table)}/batch`,
        body: JSON.stringify({ deletes: keys }),
        idempotencyKey: newIdempotencyKey(),
      })
      const { out } = context.terminal
      // The service does not report which of the documents existed.
      const present = keys.length === 1 ? 'if it existed' : 'as far as they existed'
      const sentence = `deleted ${plural(keys.length, 'key')} from ${table}, ${present}`
      await writeLine(out, options.json === true ? answer.text.trim() : sentence)
    })
}
