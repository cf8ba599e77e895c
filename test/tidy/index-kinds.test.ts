// A kind of index is named by its descriptor alone, so that a new kind is found by the compiler and not by reading.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { INDEX_KINDS } from '../../node/index/kinds/index-kinds.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const DESCRIPTORS = 'node/index/kinds/'

const kinds = Object.keys(INDEX_KINDS).join('|')
const types = Object.values(INDEX_KINDS)
  .map(({ type }) => type)
  .join('|')
const near = (name: string, words: string): RegExp =>
  new RegExp(`${name}\\b\\)?(?:: | [!=]== )(?:typeof )?'(?:${words})'`)

/** Wherever it stands, this is about an index. */
const ANYWHERE: readonly RegExp[] = [
  new RegExp(`\\bkind: '(?:${kinds})', question`),
  new RegExp(`\\b(?:IndexRequest|IndexAnswer|QuestionOf|IndexQuestions)[<\\[]'(?:${kinds})'`),
  near('\\btype', types),
]
/** Parts of prompts, fields and queries have kinds of the same words: only files about indexes are searched. */
const IN_FILES_ABOUT_INDEXES: readonly RegExp[] = [
  near('(?<![.\\w])kind', kinds),
  near('\\b(?:index|definition|asked)\\??\\.kind', kinds),
]
const ABOUT_INDEXES =
  /from '[^']*\/index\/(?:host\/index-definition|host\/index-kind|kinds\/[\w-]+)\.ts'/

function literalsOfKinds(file: string, text: string): string[] {
  const patterns = ABOUT_INDEXES.test(text) ? [...ANYWHERE, ...IN_FILES_ABOUT_INDEXES] : ANYWHERE
  return text.split('\n').flatMap((line, at) => {
    const isFound = patterns.some((pattern) => pattern.test(line))
    return isFound ? [`${file}:${at + 1}: ask the descriptor: ${line.trim()}`] : []
  })
}

describe('kinds of index', () => {
  it('are named by their descriptors alone', () => {
    const sources = globSync('node/**/*.ts', { cwd: ROOT }).filter(
      (file) => !file.startsWith(DESCRIPTORS),
    )

    const found = sources.flatMap((file) =>
      literalsOfKinds(file, readFileSync(path.join(ROOT, file), 'utf8')),
    )

    expect(found).to.deep.equal([])
  })

  it('have the stored word under which the table has their descriptor', () => {
    for (const [word, { kind }] of Object.entries(INDEX_KINDS)) expect(kind).to.equal(word)
  })

  const about = "import type { IndexDefinition } from '../../index/host/index-definition.ts'\n"
  const cases: Readonly<Record<string, boolean>> = {
    "const asked = { kind: 'text', question: 'search', request }": true,
    "ask<Name extends QuestionOf<'vectors'>>(": true,
    "if (config.type === 'embeddings') return": true,
    [`${about}indexes.filter(({ kind }) => kind === 'text')`]: true,
    [`${about}if (index.kind !== 'vectors') return`]: true,
    [`${about}const BUILT_IN = { id, kind: 'text', name }`]: true,
    [`${about}if (sought?.kind === 'text') return`]: false,
    "parts.push({ kind: 'text', text })": false,
  }
  for (const [text, isFound] of Object.entries(cases)) {
    it(`are ${isFound ? 'found' : 'not meant'} in ${JSON.stringify(text.replace(about, ''))}`, () => {
      expect(literalsOfKinds('here.ts', text).length > 0).to.equal(isFound)
    })
  }
})
