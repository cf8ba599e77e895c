// SQLite FTS5 as a peer: the words in an FTS5 table, what filters, orders and counts in a narrow table
// beside it, joined by rowid. Tuned as its documentation advises:
//
// - all of the database may be mapped, and 256 MiB of pages are cached besides;
// - loaded in large transactions without syncs, with a hash table that spills seldom;
// - for searches, the body alone is in the FTS5 table, because to leave a title out of account would
//   cost up to a quarter; prefixes of four letters have an index of their own (`prefix='4'`); after
//   loading the index is merged into one b-tree (`optimize`), and ANALYZE has run;
// - for inserts, titles and bodies are in one FTS5 table, and there are no further indexes;
// - the best hits come from the `rank` column, which FTS5 sorts inside; they are rowids, and the total,
//   which our engine counts as well, is not asked for;
// - statements are prepared once, and their plans are the planner's.

import { DatabaseSync } from 'node:sqlite'
import type { StatementSync } from 'node:sqlite'
import { unreachable } from '../../lib/assert.ts'
import { documentKey } from '../data/document-source.ts'
import type { Article, ArticleSource } from '../data/article-source.ts'
import { HITS } from '../data/query-classes.ts'
import type { ArticleFilter, TextQuery, WordsQuery } from '../data/query-classes.ts'
import type { TextAnswer, TextEngine } from './text-engine.ts'

/** An article as this engine stores it. */
export type StoredArticle = Omit<Article, 'ranks'>

export const DOCUMENTS_PER_TRANSACTION = 10_000
const MAPPED_BYTES_MAX = 2 ** 31 - 1
const CACHE_KIB = 256 * 1024
/** Words gathered in memory before FTS5 writes them out; the default is 1 MiB. */
const HASH_BYTES = 64 * 2 ** 20

const JOINED = 'FROM articles JOIN facets ON facets.id = articles.rowid WHERE articles MATCH ?'

export type Fts5Purpose = 'searches' | 'inserts'

const COLUMNS: Record<Fts5Purpose, string> = {
  searches: "body, prefix = '4'",
  inserts: 'title, body',
}
/** The statements get rowid, title and body. */
const INSERT_WORDS: Record<Fts5Purpose, string> = {
  searches: 'INSERT INTO articles (rowid, body) VALUES (?1, ?3)',
  inserts: 'INSERT INTO articles (rowid, title, body) VALUES (?1, ?2, ?3)',
}

/** The engine of SQLite FTS5 with the tuning above. */
export class Fts5Engine implements TextEngine {
  readonly #articles: ArticleSource
  readonly #database: DatabaseSync
  readonly #insertWords: string
  readonly #statements = new Map<string, StatementSync>()

  constructor(articles: ArticleSource, file: string, purpose: Fts5Purpose) {
    this.#articles = articles
    this.#insertWords = INSERT_WORDS[purpose]
    this.#database = new DatabaseSync(file)
    this.#database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = OFF;
      PRAGMA cache_size = -${CACHE_KIB};
      PRAGMA mmap_size = ${MAPPED_BYTES_MAX};
      PRAGMA temp_store = MEMORY;
      CREATE VIRTUAL TABLE articles USING fts5(${COLUMNS[purpose]}, tokenize = 'unicode61');
      INSERT INTO articles (articles, rank) VALUES ('hashsize', ${HASH_BYTES});
      CREATE TABLE facets (
        id INTEGER PRIMARY KEY, key TEXT, category TEXT, price REAL, created INTEGER
      );
    `)
  }

  load(documents: number): void {
    for (let from = 0; from < documents; from += DOCUMENTS_PER_TRANSACTION) {
      const count = Math.min(DOCUMENTS_PER_TRANSACTION, documents - from)
      this.insert(
        from,
        Array.from({ length: count }, (_, i) => this.#articles.articleAt(from + i)),
      )
    }
    this.optimize()
  }

  /** What searches profit by when all articles are loaded. */
  optimize(): void {
    this.#database.exec(`
      INSERT INTO articles (articles) VALUES ('optimize');
      CREATE INDEX facets_by_price ON facets (price);
      CREATE INDEX facets_by_category ON facets (category);
      ANALYZE;
      PRAGMA wal_checkpoint(TRUNCATE);
    `)
  }

  /** Inserts articles in one transaction, which is committed when the method returns. */
  insert(from: number, articles: readonly StoredArticle[]): void {
    const words = this.#statement(this.#insertWords)
    const facets = this.#statement('INSERT INTO facets VALUES (?, ?, ?, ?, ?)')
    this.#database.exec('BEGIN')
    for (const [i, { title, body, category, price, createdMs }] of articles.entries()) {
      words.run(from + i, title, body)
      facets.run(from + i, documentKey(from + i), category, price, createdMs)
    }
    this.#database.exec('COMMIT')
  }

  prepare(query: TextQuery): () => unknown {
    const { condition, values } = conditionOf(query.filter)
    const statement = this.#statement(searchOf(query, condition))
    const match = matchOf(query.words)
    return () => statement.all(match, ...values)
  }

  answer(query: TextQuery): TextAnswer {
    const { condition, values } = conditionOf(query.filter)
    const match = matchOf(query.words)
    const counted = this.#statement(`SELECT count(*) AS total ${JOINED}${condition}`)
    const total = Number(counted.get(match, ...values)?.['total'])
    if (query.outcome === 'by-score') return { total, figures: [] }
    const found = this.#statement(searchOf(query, condition)).all(match, ...values)
    return { total, figures: found.map(({ figure }) => Number(figure)) }
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

/** Answers to `figure` in each row are compared with those of the other engines. */
function searchOf({ outcome, filter }: TextQuery, condition: string): string {
  switch (outcome) {
    case 'by-score':
      return filter === undefined
        ? `SELECT rowid FROM articles WHERE articles MATCH ? ORDER BY rank LIMIT ${HITS}`
        : `SELECT articles.rowid ${JOINED}${condition} ORDER BY rank LIMIT ${HITS}`
    case 'by-price':
      return (
        `SELECT articles.rowid, price AS figure ${JOINED}${condition} ` +
        `ORDER BY price LIMIT ${HITS}`
      )
    case 'categories':
      return (
        `SELECT category, count(*) AS figure ${JOINED}${condition} ` +
        `GROUP BY category ORDER BY figure DESC LIMIT ${HITS}`
      )
    default:
      return unreachable(outcome)
  }
}

function conditionOf(filter: ArticleFilter | undefined): {
  readonly condition: string
  readonly values: readonly (string | number)[]
} {
  if (filter === undefined) return { condition: '', values: [] }
  if (filter.kind === 'category') {
    return { condition: ' AND category = ?', values: [filter.category] }
  }
  return { condition: ' AND price >= ? AND price < ?', values: [filter.min, filter.max] }
}

function matchOf(words: WordsQuery): string {
  switch (words.kind) {
    case 'and':
    case 'or':
      return words.words.map(quoted).join(` ${words.kind.toUpperCase()} `)
    case 'phrase':
      return quoted(words.words.join(' '))
    case 'prefix':
      return `${quoted(words.prefix)} *`
    default:
      return unreachable(words)
  }
}

function quoted(text: string): string {
  return `"${text}"`
}
