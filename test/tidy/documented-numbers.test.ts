import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { numberIn, OTHER_PORTS, OTHERS, PORTS, RECORDS, TOLD } from './documented-numbers.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

const NUMBER = String.raw`(?:\d[\d,]*(?:\.\d+)?|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|hundreds?|thousand|half)`
const UNIT = String.raw`(?:MiB|KiB|GiB|KB|MB|GB|ms|s|seconds?|minutes?|hours?|days?|%|documents?|shards?|tables?|fields?|keys?|hits?|clauses?|records?|bytes?|numbers?|characters?|values?|levels?|replicas?|nodes?|requests?|connections?|points?|items?|tokens?|terms?|pixels?|megapixels?|chunks?|times|calls?|entries|files?|indexes|objects?|names|bits)`
const LIMIT = new RegExp(
  String.raw`\b(?:${NUMBER}[ -]${UNIT}|an? (?:hour|minute|day)(?: and a half)?)\b`,
  'gi',
)
const TABLE = /<!-- table:[\s\S]*?<!-- \/table -->/g
const CODE = /^```[\s\S]*?^```$/gm
const LINK_TARGET = /\]\([^)]*\)/g
const ADDRESS = /\b(?:127\.0\.0\.1|localhost):(\d+)/g

/** Sentences on one line each; without code, whose numbers are the reader's, tables, which are generated, and names of files. */
function proseOf(markdown: string): string {
  return markdown
    .replaceAll(TABLE, ' ')
    .replaceAll(CODE, ' ')
    .replaceAll(LINK_TARGET, ']')
    .replaceAll(/\s+/g, ' ')
}

/** Limits in a text that no sentence of these has. */
function unexplained(prose: string, sentences: readonly string[]): readonly string[] {
  const covered = sentences.flatMap((sentence) => {
    const places: { readonly from: number; readonly to: number }[] = []
    for (
      let from = prose.indexOf(sentence);
      from !== -1;
      from = prose.indexOf(sentence, from + 1)
    ) {
      places.push({ from, to: from + sentence.length })
    }
    return places
  })
  return [...prose.matchAll(LIMIT)]
    .filter(({ index, 0: found }) => {
      return !covered.some(({ from, to }) => from <= index && index + found.length <= to)
    })
    .map(({ index, 0: found }) => prose.slice(Math.max(0, index - 30), index + found.length + 30))
}

describe('the numbers of documents', () => {
  for (const [document, told] of Object.entries(TOLD)) {
    const markdown = readFileSync(path.join(ROOT, document), 'utf8')
    const prose = proseOf(markdown)
    const others = Object.keys(OTHERS[document] ?? {})

    it(`are those of the code in ${document}`, () => {
      expect([...told, ...others].filter((sentence) => !prose.includes(sentence))).to.deep.equal([])
    })

    it(`are compared with the code, each of them, in ${document}`, () => {
      expect(unexplained(prose, [...told, ...others])).to.deep.equal([])
    })

    it(`of ports are defaults in ${document}`, () => {
      const ports = [...markdown.matchAll(ADDRESS)].flatMap(([, port]) => port ?? [])

      expect(ports.filter((port) => !PORTS.has(port) && !OTHER_PORTS.has(port))).to.deep.equal([])
    })
  }

  it('are looked at in every document', () => {
    const documents = [
      'README.md',
      ...globSync('docs/{tutorials,how-to,explanation,lab}/*.md', { cwd: ROOT }),
    ]
    const known = [...Object.keys(TOLD), ...RECORDS]

    expect(documents.filter((document) => !known.includes(document))).to.deep.equal([])
  })

  it('would be found if nobody compared them', () => {
    const prose = 'A key has at most 1,024 bytes. It is kept for an hour. Version 2 has two doors.'

    expect(unexplained(prose, [])).to.have.length(2)
    expect(unexplained(prose, ['at most 1,024 bytes', 'kept for an hour'])).to.deep.equal([])
  })

  it('are read from the code', () => {
    expect(numberIn('lib/loop-watch.ts', 'COUNTED_MS')).to.equal(20)
    expect(() => numberIn('lib/loop-watch.ts', 'NOTHING')).to.throw('gives no number to NOTHING')
  })
})
