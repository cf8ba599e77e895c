// docs/reference/invariants.md: the invariants in the headers of files, by the folder of the file.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from './imports.ts'
import { firstSentence } from './markdown.ts'

const SOURCES = '{node,lib,inference,operator,door,cli,clients/typescript/src}/**/*.ts'
const BEGIN = /^\/\/ {1,4}(?<name>(?:INV-)?[A-Z]{1,3}\d{1,2}):? {1,2}(?<text>\S.*)$/
const REST = /^\/\/ {5,}(?<text>\S.*)$/

interface Invariant {
  readonly name: string
  readonly text: string
  readonly file: string
}

export const INVARIANT_TABLES = {
  invariants: (): string => {
    const found = globSync(SOURCES, { cwd: ROOT }).toSorted().flatMap(invariantsOf)
    return [...Map.groupBy(found, ({ file }) => path.dirname(file))]
      .map(([folder, inside]) => `## ${folder}\n\n${listOf(inside)}`)
      .join('\n\n')
  },
}

/** Those of a file, each with its lines joined. */
function invariantsOf(file: string): readonly Invariant[] {
  const lines = readFileSync(path.join(ROOT, file), 'utf8').split('\n')
  return lines.flatMap((line, at) => {
    const { name, text } = BEGIN.exec(line)?.groups ?? {}
    if (name === undefined || text === undefined) return []
    const rest: string[] = []
    for (const next of lines.slice(at + 1)) {
      const more = REST.exec(next)?.groups?.['text']
      if (more === undefined || BEGIN.test(next)) break
      rest.push(more)
    }
    return [{ name, text: [text, ...rest].join(' '), file }]
  })
}

function listOf(invariants: readonly Invariant[]): string {
  return [...Map.groupBy(invariants, ({ file }) => file)]
    .map(([file, inside]) => {
      const lines = inside.map(
        ({ name, text }) => `- **${name}** ${text.replaceAll('<', String.raw`\<`)}`,
      )
      return `[${path.basename(file)}](../../${file})${subjectOf(file)}\n\n${lines.join('\n')}`
    })
    .join('\n\n')
}

/** What the header of a file begins with, as the end of a line that has named the file. */
function subjectOf(file: string): string {
  const lines = readFileSync(path.join(ROOT, file), 'utf8').split('\n')
  const end = lines.findIndex((line) => !/^\/\/ (?!Invariants)\S/.test(line))
  const text = lines
    .slice(0, end)
    .map((line) => line.slice('// '.length))
    .join(' ')
  const sentence = firstSentence(text)
  return sentence === '' ? ':' : `: ${sentence}`
}
