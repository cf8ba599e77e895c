import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'

const ROOT = path.resolve(import.meta.dirname, '../..')
const DECLARATION = /^export (?:abstract )?(?:interface|class) (?<name>\w+)/
const DECORATED = /^\s*@/

const sources = globSync(
  ['{cli,node,inference,operator,lib,door,openapi}/**/*.ts', 'clients/typescript/{*.ts,src/*.ts}'],
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
  it('every exported interface and class says what it promises', () => {
    expect(sources.flatMap(undocumentedIn)).to.deep.equal([])
  })
})
