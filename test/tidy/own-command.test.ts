// Hints are pasted. A sentence that names a command of this program says it as the program was started.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'

const ROOT = path.resolve(import.meta.dirname, '../..')
const COMMANDS = [...commandNames(), 'help']
const BARE = new RegExp(String.raw`\bquarry (?:${COMMANDS.join('|')})\b`)
const COMMENT = /^\s*(?:\/\/|\/?\*).*$|\s\/\/\s.*$/

function commandNames(): readonly string[] {
  const program = readFileSync(path.join(ROOT, 'cli/program.ts'), 'utf8')
  const [, table = ''] = /const COMMANDS[^{]*\{([\s\S]*?)\n\}/.exec(program) ?? []
  return [...table.matchAll(/^\s+(\w+): async/gm)].flatMap(([, name]) => name ?? [])
}

function bareIn(text: string): readonly string[] {
  return text.split('\n').filter((line) => BARE.test(line.replace(COMMENT, '')))
}

describe('hints that name a command', () => {
  it('are made by ownCommand', () => {
    const sources = globSync('{cli,node,inference,operator,lib,door}/**/*.ts', { cwd: ROOT })
    const bare = sources.flatMap((file) =>
      bareIn(readFileSync(path.join(ROOT, file), 'utf8')).map((line) => `${file}: ${line.trim()}`),
    )

    expect(COMMANDS).to.include.members(['swarm', 'load', 'models'])
    expect(bare).to.deep.equal([])
  })

  it('would be found if one was bare', () => {
    expect(bareIn('  const message = `see them with: quarry table list`')).to.have.length(1)
    expect(bareIn('  // As `quarry table list` prints it.')).to.deep.equal([])
    expect(bareIn("  return `see them with: ${ownCommand('table list')}`")).to.deep.equal([])
  })
})
