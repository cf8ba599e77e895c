// Links between documents, as GitHub shows them.

import { spawnSync } from 'node:child_process'
import { lstatSync } from 'node:fs'
import path from 'node:path'
import { ROOT, textOf } from './imports.ts'

/** The file that a link leads to, as the link names it, and a heading in it. */
export interface Link {
  readonly target: string
  readonly anchor: string | undefined
}

const FENCE = /^(?<fence>`{3,}|~{3,})[\s\S]*?^\k<fence>$/gm
const CODE_SPAN = /`[^`\n]*`/g
const LINK = /\]\(<?(?<target>[^)\s#>]*)(?:#(?<anchor>[^)\s>]*))?>?(?:\s+"[^"]*")?\)/g
const ELSEWHERE = /^[a-z]+:/
const HEADING = /^#{1,6} (?<title>.+)$/gm
/** A page by its path from the root: in a comment, a message, an alert. */
const NAMED = /(?<![\w/.:-])(?<target>docs\/[\w/.-]+\.md)(?:#(?<anchor>[\w-]+))?/g
const READABLE = /\.(?:ts|js|cjs|mjs|ya?ml|json|txt|tpl)$|Dockerfile$/

/** Files that git has or would add, without links to files. */
export function trackedFiles(): readonly string[] {
  const listed = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT })
  return listed.stdout
    .toString()
    .split('\0')
    .filter((file) => file !== '' && isFile(file))
}

function isFile(file: string): boolean {
  return lstatSync(path.join(ROOT, file), { throwIfNoEntry: false })?.isFile() === true
}

/** The relative links of a page. */
export function linksOf(markdown: string): readonly Link[] {
  const text = markdown.replaceAll(FENCE, '').replaceAll(CODE_SPAN, '``')
  return linksIn(text, LINK).filter(({ target }) => !ELSEWHERE.test(target))
}

/** The names by which links find the headings of a page. */
export function anchorsOf(markdown: string): readonly string[] {
  const seen = new Map<string, number>()
  const headings = markdown.replaceAll(FENCE, '').matchAll(HEADING)
  return [...headings].map(({ groups }) => {
    const slug = slugOf(groups?.['title'] ?? '')
    const before = seen.get(slug) ?? 0
    seen.set(slug, before + 1)
    return before === 0 ? slug : `${slug}-${before}`
  })
}

export function slugOf(title: string): string {
  return title
    .replaceAll(/\[(?<text>[^\]]*)\]\([^)]*\)/g, '$<text>')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .trim()
    .replaceAll(' ', '-')
}

/** The pages that a source, a setting or a stored message names. */
export function namedDocuments(file: string): readonly Link[] {
  if (!READABLE.test(file) || file === 'package-lock.json') return []
  return linksIn(textOf(file), NAMED)
}

function linksIn(text: string, pattern: RegExp): readonly Link[] {
  return [...text.matchAll(pattern)].map(({ groups }) => ({
    target: groups?.['target'] ?? '',
    anchor: groups?.['anchor'],
  }))
}
