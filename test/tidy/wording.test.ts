import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'

const ROOT = path.resolve(import.meta.dirname, '../..')
const COMMENT = /^\s*(?:\/\/|\/?\*)|\s\/\/\s/
const TITLE = /^\s*(?:describe|it)\(|^\s*[`'"].*[`'"],$/
/** This file names the habits. */
const SELF = 'test/tidy/wording.test.ts'

type Habit = readonly [pattern: RegExp, advice: string]

/** Habits that hide the subject, the verb or the object of a sentence, with what to write instead. */
const HABITS: readonly Habit[] = [
  [/\b(?:whoever|whosever|whomever)\b/i, 'name who it is: the caller, the client, the reader'],
  [/\bgo(?:es|ing)? on\b/i, 'write "continues" and what does'],
  [/\b(?:serves|reads|runs) on(?=[.,;:)'`]|$| and\b)/i, 'write what is served or read after that'],
  [/\bfor ever\b/i, 'write how long, or "permanently"'],
  [/\bwhat stands\b/i, 'name the thing'],
  [/\bof which none\b/i, 'write a sentence of its own'],
  [/(?<!\bthere )\b(?:is|are) no (?!longer\b|more\b)\w/i, 'write "is not a"'],
  [/,? be it\b/i, 'write "whether"'],
  [/\bfor want of\b/i, 'write "for lack of", or "without"'],
  [/\blets? go of\b/i, 'write "releases" and what'],
]

/** Habits that leave a reader of the product's comments or manual without the number or the actor. */
const RIDDLES: readonly Habit[] = [
  [
    /\bso (?:many|much|few|long|often)\b(?![^.;:]*\bthat\b)/i,
    'name the number, or the parameter or constant that has it',
  ],
  [
    /(?:\/\*\*|\/\/|^\s*\*) As (?:many|much|few|long)\b/,
    'begin with what is counted, and name the limit',
  ],
  [/\bfor as long(?= [^a]|[.,;:])/i, 'name the time, or the parameter or constant that has it'],
  [/\bnone of (?:it|ours)\b/i, 'name what does not count, or what is not done'],
  [/\b(?:that|which|who|it) (?:is|are) none\b(?! of)/i, 'write what it is instead'],
  [/\bnobody but\b|\bnone but\b/i, 'write "only"'],
  [/\bas of (?:now|then|a while ago)\b/i, 'write "the current" or "the last"'],
  [/\bhowever long (?:that|it|this) takes\b/i, 'write the limit, or "without end"'],
  [/\bin vain\b/i, 'write what failed'],
  [/\b(?:has|have|having) (?:the same|no) say\b/i, 'write what is weighed or decided'],
]

/** A habit of doc comments alone: the name behind them does not say what this is a part of. */
const HEADLESS: Habit = [/^\s*\/\*\* Of\b/, 'begin with the noun: the bytes of, the cost of']

const sources = globSync(
  [
    '{bench,cli,node,inference,operator,lib,door,openapi,test}/**/*.ts',
    'clients/typescript/{*.ts,src/*.ts}',
  ],
  { cwd: ROOT },
).filter((file) => file !== SELF)
const documents = globSync(['*.md', '{docs,ops,clients}/**/*.md'], {
  cwd: ROOT,
  exclude: ['**/node_modules/**'],
})

function complaints(
  file: string,
  isChecked: (line: string) => boolean,
  habits: readonly Habit[] = [...HABITS, HEADLESS],
): string[] {
  const lines = readFileSync(path.join(ROOT, file), 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    const found = isChecked(line) ? habits.find(([habit]) => habit.test(line)) : undefined
    return found === undefined ? [] : [`${file}:${index + 1}: ${found[1]}: ${line.trim()}`]
  })
}

describe('wording', () => {
  it('of comments has a subject, a verb and a named object', () => {
    expect(sources.flatMap((file) => complaints(file, (line) => COMMENT.test(line)))).to.deep.equal(
      [],
    )
  })

  it('of comments of the product names the number and the actor', () => {
    const product = sources.filter((file) =>
      /^(?:cli|door|inference|lib|node|operator)\//.test(file),
    )

    expect(
      product.flatMap((file) => complaints(file, (line) => COMMENT.test(line), RIDDLES)),
    ).to.deep.equal([])
  })

  it('of titles of tests has a subject, a verb and a named object', () => {
    const tests = sources.filter((file) => /^test\/.*(?:\.test|\.soak)?\.ts$/.test(file))

    expect(tests.flatMap((file) => complaints(file, (line) => TITLE.test(line)))).to.deep.equal([])
  })

  it('of documents has a subject, a verb and a named object', () => {
    expect(documents.flatMap((file) => complaints(file, () => true))).to.deep.equal([])
  })

  it('of the manual names the number and the actor', () => {
    const manual = documents.filter((file) =>
      /^(?:README\.md|UPGRADING\.md|docs\/(?:tutorials|how-to|explanation|reference)\/)/.test(file),
    )

    expect(manual.flatMap((file) => complaints(file, () => true, RIDDLES))).to.deep.equal([])
  })
})
