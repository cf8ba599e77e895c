// `npm run lines -- BEFORE [AFTER]`: lines of TypeScript by folder at two commits, and how they differ.

import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from './imports.ts'

/** Written by generators. */
const GENERATED = /^clients\/typescript\/src\/contract\//
/** Folders that are counted by the folders in them. */
const SPLIT = new Set(['node', 'node/index', 'inference', 'test'])

const { positionals } = parseArgs({ allowPositionals: true })
const [before, after = 'HEAD'] = positionals
if (before === undefined) throw new Error('name a commit: npm run lines -- BEFORE [AFTER]')
const [old, now] = [linesAt(before), linesAt(after)]
const folders = [...new Set([...old.keys(), ...now.keys()])].toSorted()
const table = [
  `| Folder | ${before} | ${after} | Difference |`,
  '| --- | ---: | ---: | ---: |',
  ...folders.map((folder) => row(folder, old.get(folder) ?? 0, now.get(folder) ?? 0)),
  row('all', sum(old), sum(now)),
]
process.stdout.write(`${table.join('\n')}\n`)

function linesAt(commit: string): ReadonlyMap<string, number> {
  const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const
  const counts = execFileSync('git', ['grep', '-c', '', commit, '--', '*.ts'], options)
  const lines = new Map<string, number>()
  for (const [, file = '', count] of counts.matchAll(/^[^:]+:(.+):(\d+)$/gm)) {
    if (GENERATED.test(file)) continue
    const folder = folderOf(file)
    lines.set(folder, (lines.get(folder) ?? 0) + Number(count))
  }
  return lines
}

function folderOf(file: string): string {
  const names = path.dirname(file).split('/')
  const depth = names.findIndex((_, at) => !SPLIT.has(names.slice(0, at + 1).join('/')))
  return depth === -1 ? names.join('/') : names.slice(0, depth + 1).join('/')
}

function row(folder: string, was: number, is: number): string {
  return `| ${folder} | ${was} | ${is} | ${is > was ? '+' : ''}${is - was} |`
}

function sum(lines: ReadonlyMap<string, number>): number {
  return lines.values().reduce((total, count) => total + count, 0)
}
