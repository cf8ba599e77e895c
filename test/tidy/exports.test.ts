import { globSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { layeredFiles, ROOT, textOf } from './imports.ts'

const DECLARED = /^export (?:abstract |async )?(?:class|const|function\*?|let) (?<name>\w+)/gm
const IMPORTED =
  /^(?:import|export)\s+(?:type\s+)?(?:\{(?<names>[^}]*)\}|\* as \w+)\s+from\s+'(?<from>\.[^']+)'/gm
const DYNAMIC = /\bimport\('(?<from>\.[^']+)'\)/gm

/** Published to other programs, which import what they need. */
const PUBLISHED = /^clients\/typescript\//

// Types are left out: the interface of a parameter is exported for readers of the signature.
describe('exported values', () => {
  it('are imported by another file', () => {
    const tests = globSync('test/**/*.ts', { cwd: ROOT })
    const mains = globSync('{cli,images,node,inference,operator}/{main,config}.ts', { cwd: ROOT })
    const sources = layeredFiles()
    const used = new Set([...sources, ...mains, ...tests].flatMap(importedNames))
    const unused = sources
      .filter((file) => !PUBLISHED.test(file))
      .flatMap((file) => exportedNames(file).map((name) => `${file}: ${name}`))
      .filter((name) => !used.has(name))
    expect(unused.join('\n')).to.equal('')
  })
})

function exportedNames(file: string): string[] {
  return [...textOf(file).matchAll(DECLARED)].map(({ groups }) => groups?.['name'] ?? '')
}

/** Each as `file: name`, where the file is the one that it is imported from. */
function importedNames(file: string): string[] {
  const text = textOf(file)
  const statements = [...text.matchAll(IMPORTED), ...text.matchAll(DYNAMIC)]
  return statements.flatMap(({ groups }) => {
    const from = path.normalize(path.join(path.dirname(file), groups?.['from'] ?? ''))
    const names = groups?.['names']
    const taken = names === undefined ? exportedNames(from) : namesIn(names)
    return taken.map((name) => `${from}: ${name}`)
  })
}

/** The exported names in a list in braces. */
function namesIn(list: string): string[] {
  return list
    .split(',')
    .map(
      (part) =>
        part
          .trim()
          .replace(/^type /, '')
          .split(' ')[0] ?? '',
    )
    .filter((name) => name !== '')
}
