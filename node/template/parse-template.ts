// The tree of a template, by Handlebars' own parser, and its refusals in the words of this server.

import { isJsonRecord } from '../../lib/json-record.ts'
import { parseTree } from './handlebars-lexer.ts'
import type { Program } from './handlebars-tree.ts'
import type { Place } from './template-error.ts'
import type { TemplateText } from './template-text.ts'

/** What the tokens are that people misplace. The parser names them as its grammar does. */
const MISPLACED: Readonly<Record<string, string>> = {
  INVERSE:
    '{{else}} has no place here: it stands in no block, or in one that has an {{else}} already',
  OPEN_INVERSE_CHAIN: '{{else …}} has no place here: it stands in no block, or behind an {{else}}',
  OPEN_ENDBLOCK: 'this closes no block',
  CLOSE: '}} has no place here: something is missing before it',
}

/**
 * The tree of a text that `checkTemplate` let through, with its white space settled. Throws INVALID_ARGUMENT with
 * the place of what is not a template.
 */
export function parseTemplate(text: TemplateText): Program {
  try {
    return parseTree(text.text)
  } catch (error) {
    throw refusalOf(error, text) ?? error
  }
}

/** Undefined for an error that is not the parser's about the text. */
function refusalOf(error: unknown, text: TemplateText): Error | undefined {
  if (!(error instanceof Error)) return undefined
  if ('hash' in error && isJsonRecord(error.hash)) return grammarError(error.hash, text)
  if (!('lineNumber' in error && 'column' in error)) return undefined
  const place = placeOf(error.lineNumber, error.column)
  return place && text.refuse(place, error.message.replace(/ - \d+:\d+$/, ''))
}

/** `loc` is that of the token before the wrong one. */
function grammarError(
  hash: Readonly<Record<string, unknown>>,
  text: TemplateText,
): Error | undefined {
  const { loc, token, text: found } = hash
  if (!isJsonRecord(loc)) return undefined
  const place = placeOf(loc['last_line'], loc['last_column'])
  const why = MISPLACED[String(token)] ?? `${JSON.stringify(found)} has no place here`
  return place && text.refuse(place, why)
}

function placeOf(line: unknown, column: unknown): Place | undefined {
  return typeof line === 'number' && typeof column === 'number' ? { line, column } : undefined
}
