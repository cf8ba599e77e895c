import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'

const ROOT = path.resolve(import.meta.dirname, '../..')
const COMMENT = /^\s*(?:\/\/|\/?\*)|\s\/\/\s/

/** Habits that hide the subject, the verb or the object of a sentence, with what to write instead. */
const HABITS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:whoever|whosever|whomever)\b/i, 'name who it is: the caller, the client, the reader'],
  [/\bgo(?:es|ing)? on\b/i, 'write "continues" and what does'],
  [/\bfor ever\b/i, 'write how long, or "permanently"'],
  [/\bwhat stands\b/i, 'name the thing'],
  [/\bof which none\b/i, 'write a sentence of its own'],
  [/(?<!\bthere )\b(?:is|are) no (?!longer\b|more\b)\w/i, 'write "is not a"'],
  [/,? be it\b/i, 'write "whether"'],
]

/**
 * By folder, how many comment lines had such a habit when the rule came. A count may shrink and never
 * grow; a folder that reaches zero leaves the list.
 */
const REMAINING: Readonly<Record<string, number>> = {}

const sources = globSync(
  ['{bench,cli,node,inference,lib,door,openapi}/**/*.ts', 'clients/typescript/{*.ts,src/*.ts}'],
  { cwd: ROOT },
)

function habitsIn(file: string): string[] {
  const lines = readFileSync(path.join(ROOT, file), 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    if (!COMMENT.test(line)) return []
    const found = HABITS.find(([habit]) => habit.test(line))
    return found === undefined ? [] : [`${file}:${index + 1}: ${found[1]}: ${line.trim()}`]
  })
}

describe('wording', () => {
  const found = sources.flatMap(habitsIn)
  const byFolder = Object.groupBy(found, (entry) => path.dirname(entry.split(':')[0] ?? ''))

  it('comments have a subject, a verb and a named object', () => {
    const problems = Object.entries(byFolder).flatMap(([folder, entries = []]) =>
      entries.length > (REMAINING[folder] ?? 0) ? entries : [],
    )
    expect(problems).to.deep.equal([])
  })

  it('a folder without exceptions leaves the list', () => {
    const done = Object.keys(REMAINING).filter((folder) => byFolder[folder] === undefined)
    expect(done).to.deep.equal([])
  })
})
