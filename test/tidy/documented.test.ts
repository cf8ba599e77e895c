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
const UNDOCUMENTED: Readonly<Record<string, number>> = {
  'inference/api': 7,
  'lib/http': 8,
  'lib/linear-pattern': 5,
  'node/api': 9,
  'node/index/text/encoding': 4,
  'node/index/text/engine': 12,
  'node/index/text/live': 4,
  'node/index/text/mapping': 2,
  'node/index/text/matching': 18,
  'node/index/text/postings': 3,
  'node/index/text/segment': 11,
}

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
