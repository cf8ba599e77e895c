// What a person types to run this program again. Hints are pasted, and `quarry` is on the path of few: a checkout has
// `node bin/quarry` and `npx quarry`.

/** How the program is called where nothing says so, as in tests and in documents. */
const USUAL = 'quarry'

/**
 * The command line of this program with these words behind its name, for a hint that a person pastes into the shell
 * from which the program was started: `npx quarry status`.
 *
 * - Every sentence that names a command of the program is made with it (test/tidy/own-command.test.ts).
 * - bin/quarry finds out how the program was called, and tells it in QUARRY_COMMAND; a wrapper may set another name,
 *   and children of the program inherit it.
 */
export function ownCommand(words: string): string {
  return `${process.env['QUARRY_COMMAND'] ?? USUAL} ${words}`
}

const PLAIN_WORD = /^[\w@%+=:,./-]+$/

/** A value as one word of a command line for a POSIX shell. */
export function shellWord(text: string): string {
  return PLAIN_WORD.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
