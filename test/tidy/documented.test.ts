import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'

const ROOT = path.resolve(import.meta.dirname, '../..')
const DECLARATION = /^export (?:abstract )?(?:interface|class) (?<name>\w+)/
const DECORATED = /^\s*@/

/**
 * By folder, how many exported interfaces and classes had no comment when the rule came. A count may
 * shrink and never grow; a folder that reaches zero leaves the list.
 */
const UNDOCUMENTED: Readonly<Record<string, number>> = {}

const sources = globSync(
  ['{cli,node,inference,lib,door,openapi}/**/*.ts', 'clients/typescript/{*.ts,src/*.ts}'],
  { cwd: ROOT },
)

/** Exported interfaces and classes without a comment right above them. */
function undocumentedIn(file: string): string[] {
  const lines = readFileSync(path.join(ROOT, file), 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    const name = DECLARATION.exec(line)?.groups?.['name']
    if (name === undefined) return []
    let above = index - 1
    while (DECORATED.test(lines[above] ?? '')) above--
    return lines[above]?.trimEnd().endsWith('*/') === true ? [] : [`${file}: ${name}`]
  })
}

describe('documented', () => {
  const missing = sources.flatMap(undocumentedIn)
  const byFolder = Object.groupBy(missing, (entry) => path.dirname(entry.split(':')[0] ?? ''))

  it('every exported interface and class says what it promises', () => {
    const problems = Object.entries(byFolder).flatMap(([folder, entries = []]) =>
      entries.length > (UNDOCUMENTED[folder] ?? 0) ? entries : [],
    )
    expect(problems).to.deep.equal([])
  })

  it('a folder without exceptions leaves the list', () => {
    const done = Object.keys(UNDOCUMENTED).filter((folder) => byFolder[folder] === undefined)
    expect(done).to.deep.equal([])
  })
})
