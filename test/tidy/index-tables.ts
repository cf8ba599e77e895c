// Lists of pages: docs/README.md, and docs/decisions/README.md with the status of each decision.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from './imports.ts'
import { firstSentence, titleOf } from './markdown.ts'

const DECISIONS = 'docs/decisions'
const STATUS = /^\*\*Status\.\*\* (?<status>[\s\S]*?)(?=\n\n|\n*$(?!\n))/m
/** What a status may begin with. */
export const STATUSES: readonly string[] = ['In force.', 'Changed by [', 'Superseded by [']

/** By folder of docs/, the heading of its pages in the list of all. */
const SECTIONS = ['tutorials', 'how-to', 'reference', 'reference/formats', 'explanation', 'lab']

/** Tutorials in the order in which they build on each other; other pages go by their names. */
const LEARNED: readonly string[] = [
  'first-store',
  'search-by-meaning',
  'search-page',
  'models',
  'three-nodes',
  'first-cluster',
]

export const ALL_PAGES_TABLES = Object.fromEntries(
  SECTIONS.map((folder): [string, () => string] => [folder, () => listOf(`docs/${folder}`)]),
)

export const DECISION_TABLES = {
  decisions: (): string =>
    decisionFiles()
      .map((file) => {
        const text = textOf(file)
        const [number = '', title = ''] = titleOf(text).split(/: (.*)/)
        const link = `[${number}](${path.basename(file)}) **${title}**`
        return `- ${link} (${shortStatus(text)}): ${firstSentence(text)}`
      })
      .join('\n'),
}

/** `in force`, or the later decisions by their numbers. */
function shortStatus(decision: string): string {
  const status = statusOf(decision) ?? ''
  if (status.startsWith('In force')) return 'in force'
  return (status.split(': ')[0] ?? '').replace(/^./, (letter) => letter.toLowerCase())
}

export function decisionFiles(): readonly string[] {
  return globSync(`${DECISIONS}/0*.md`, { cwd: ROOT }).toSorted()
}

/** Undefined where a decision says nothing of its status. */
export function statusOf(decision: string): string | undefined {
  return STATUS.exec(decision)?.groups?.['status']?.replaceAll(/\s+/g, ' ').trim()
}

function listOf(folder: string): string {
  return globSync(`${folder}/*.md`, { cwd: ROOT })
    .toSorted()
    .toSorted((a, b) => placeOf(a) - placeOf(b))
    .filter((file) => path.basename(file) !== 'README.md')
    .map((file) => {
      const text = textOf(file)
      return `- [${titleOf(text)}](${path.relative('docs', file)}): ${firstSentence(text)}`
    })
    .join('\n')
}

function placeOf(file: string): number {
  return LEARNED.indexOf(path.basename(file, '.md'))
}

function textOf(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8')
}
