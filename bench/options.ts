import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'

/** The parsed command line. */
export interface BenchOptions {
  readonly suite: string
  /** The rows to run; undefined: all. */
  readonly rows: readonly string[] | undefined
  readonly quick: boolean
  readonly clients: readonly number[]
  readonly runs: number
  /** The number of documents; undefined: each row's own number. */
  readonly documents: number | undefined
  readonly seed: number
  /** Another checkout of this repository that replaces the peer. */
  readonly against: string | undefined
  readonly profile: boolean
  /** The file for all figures as JSON. */
  readonly jsonFile: string | undefined
  /** The Markdown file in which the figures are replaced. */
  readonly updateFile: string | undefined
  /** The folder for the data of the run. */
  readonly directory: string
}

export const CLIENTS_DEFAULT: readonly number[] = [1, 16, 64, 128]

export const USAGE = `usage: npm run bench -- <suite> [options]

suites: documents, text, vectors, dimensions, inference, enrichment, peer, cluster, versions

  --rows a,b         only these rows
  --quick            a tenth of the data, shorter runs
  --clients <n,m>    of documents: numbers of clients (default 1,16,64,128)
  --runs <n>         repetitions of each comparison (default 5)
  --documents <n>    how many documents the rows of text or vectors use
  --seed <n>         of the documents and of the choice of keys (default 1)
  --against <dir>    of versions, and of writes and lookups of documents: the other checkout
  --profile          leave CPU profiles of our server, and say what they hold
  --json <file>      write all figures as JSON
  --update <file>    replace the figures of the suite or rows in a page, such as docs/lab/benchmarks.md
  --directory <dir>  a folder on the disk to measure (default: the one for temporary files)
`

/** Parses the arguments. Throws an Error with the problem. */
export function parseOptions(args: readonly string[], suites: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rows: { type: 'string' },
      quick: { type: 'boolean', default: false },
      clients: { type: 'string' },
      runs: { type: 'string', default: '5' },
      documents: { type: 'string' },
      seed: { type: 'string', default: '1' },
      against: { type: 'string' },
      profile: { type: 'boolean', default: false },
      json: { type: 'string' },
      update: { type: 'string' },
      directory: { type: 'string', default: tmpdir() },
    },
  })
  const [suite, ...rest] = positionals
  if (suite === undefined || rest.length > 0) throw new Error('name one suite')
  if (!suites.includes(suite)) {
    throw new Error(`unknown suite ${suite}; the suites are ${suites.join(', ')}`)
  }
  return {
    suite,
    rows: values.rows?.split(','),
    quick: values.quick,
    clients: parseClients(values.clients),
    runs: parseCount('runs', values.runs),
    documents:
      values.documents === undefined ? undefined : parseCount('documents', values.documents),
    seed: parseCount('seed', values.seed),
    against: values.against,
    profile: values.profile,
    jsonFile: values.json,
    updateFile: values.update,
    directory: values.directory,
  }
}

/** The rows to run, in the order of the suite. Throws an Error for an unknown row. */
export function selectRows(
  wanted: readonly string[] | undefined,
  known: readonly string[],
): readonly string[] {
  if (wanted === undefined) return known
  const unknown = wanted.filter((row) => !known.includes(row))
  if (unknown.length === 0) return known.filter((row) => wanted.includes(row))
  throw new Error(`unknown row ${unknown.join(', ')}; the rows are ${known.join(', ')}`)
}

function parseClients(text: string | undefined): readonly number[] {
  if (text === undefined) return CLIENTS_DEFAULT
  return text.split(',').map((count) => parseCount('clients', count))
}

function parseCount(name: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new Error(`--${name} must be a whole number above 0, not ${text}`)
}
