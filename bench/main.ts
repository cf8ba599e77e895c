// npm run bench -- <suite>: measures, prints one table of ratios, and ends with 0 even when goals
// are missed, because then it did its work; with 1 when it could not measure.

import { mkdtempSync, rmSync } from 'node:fs'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { inspect } from 'node:util'
import { must } from '../lib/assert.ts'
import { systemClock } from '../lib/clock.ts'
import { messageOf } from '../lib/errors.ts'
import { clusterSuite } from './cluster/suite.ts'
import { dimensionsSuite } from './dimensions/suite.ts'
import { enrichmentSuite } from './enrichment/suite.ts'
import { documentsSuite } from './documents/suite.ts'
import { replaceFigures } from './report/figures-file.ts'
import { judge } from './report/finding.ts'
import type { RowResult } from './report/finding.ts'
import { inferenceSuite } from './inference/suite.ts'
import { LoadGenerator } from './load/load-generator.ts'
import { describeMachine, requireRealDisk } from './report/machine.ts'
import type { Machine } from './report/machine.ts'
import { CLIENTS_DEFAULT, USAGE, parseOptions, selectRows } from './options.ts'
import type { BenchOptions } from './options.ts'
import { peerSuite } from './peer/suite.ts'
import { summariseProfile } from './report/profile-summary.ts'
import { formatNumber, renderFindings, renderLatencies } from './report/report.ts'
import type { Bench, SuiteEntry } from './suite.ts'
import { textSuite } from './text/suite.ts'
import { vectorsSuite } from './vectors/suite.ts'
import { versionsSuite } from './versions/suite.ts'

/** The rows of a suite, and what `--documents` adds: a million vectors are written three times, with their graphs. */
const DEADLINE_MS = 30 * 60_000
const DOCUMENT_MS = 4
const PROFILE_ENTRIES_MAX = 40
const CHILDREN_MAX = 30
const SUITES: Readonly<Record<string, SuiteEntry>> = {
  cluster: clusterSuite,
  dimensions: dimensionsSuite,
  documents: documentsSuite,
  enrichment: enrichmentSuite,
  inference: inferenceSuite,
  peer: peerSuite,
  text: textSuite,
  vectors: vectorsSuite,
  versions: versionsSuite,
}

// Each child is killed with this process, by a listener of its own.
process.setMaxListeners(CHILDREN_MAX)

// By `exit`, because after a failure a server may still run, which that ends: see below.
process.exit(await main(process.argv.slice(2)))

async function main(args: readonly string[]): Promise<number> {
  let options: BenchOptions
  try {
    options = parseOptions(args, Object.keys(SUITES))
    checkOptions(options, suiteOf(options))
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n\n${USAGE}`)
    return 1
  }
  try {
    await runBench(options)
    return 0
  } catch (error) {
    process.stderr.write(`bench failed: ${inspect(error)}\n`) // with what it suppressed
    return 1
  }
}

/** Throws an Error for options that the suite does not have. */
function checkOptions({ rows, documents }: BenchOptions, suite: SuiteEntry): void {
  selectRows(rows, suite.rowNames)
  if (documents === undefined || suite.takesDocuments) return
  throw new Error('the rows of this suite have fixed numbers of documents; leave out --documents')
}

async function runBench(options: BenchOptions): Promise<void> {
  await requireRealDisk(options.directory)
  using directory = temporaryFolder(options.directory)
  endOnSignalOrDeadline(options.documents ?? 0)
  const suite = suiteOf(options)
  const { packages } = suite
  const question = { directory: directory.path, packages, clock: systemClock }
  const machine = await describeMachine(question)
  const profileDirectory = options.profile
    ? mkdtempSync(path.join(options.directory, 'quarry-profile-'))
    : undefined

  await using generator = new LoadGenerator()
  const results = await runRows(suite, selectRows(options.rows, suite.rowNames), {
    directory: directory.path,
    profileDirectory,
    generator,
    clock: systemClock,
    quick: options.quick,
    clients: options.clients,
    runs: options.runs,
    documents: options.documents,
    seed: options.seed,
    against: options.against,
    progress: (message) => process.stderr.write(`${message}\n`),
  })
  await publish(options, machine, results)
  if (profileDirectory !== undefined) await publishProfiles(profileDirectory)
}

async function runRows(
  entry: SuiteEntry,
  names: readonly string[],
  bench: Bench,
): Promise<ReadonlyMap<string, RowResult>> {
  await using suite = entry.build(bench)
  const results = new Map<string, RowResult>()
  for (const name of names) {
    const row = must(suite.rows[name], `row ${name}`)
    results.set(name, await row())
  }
  return results
}

async function publish(
  options: BenchOptions,
  machine: Machine,
  results: ReadonlyMap<string, RowResult>,
): Promise<void> {
  const text = renderFigures(options, machine, [...results.values()])
  process.stdout.write(text)
  const { jsonFile, updateFile } = options
  if (jsonFile !== undefined) await writeFile(jsonFile, renderJson(options, machine, results))
  if (updateFile !== undefined) {
    const before = await readFile(updateFile, 'utf8')
    await writeFile(updateFile, replaceFigures(before, options, text))
  }
}

function renderFigures(
  options: BenchOptions,
  machine: Machine,
  results: readonly RowResult[],
): string {
  const latencies = results.flatMap((result) => result.latencies ?? [])
  const notes = results.flatMap((result) => result.notes ?? [])
  const versions = Object.entries(machine.packages).map(([name, version]) => `${name} ${version}`)
  const parts = [
    `Command: \`npm run bench -- ${commandOf(options)}\``,
    `Machine: ${machine.cores} × ${machine.cpu}, ${machine.memoryGiB} GiB, Linux ${machine.linux}, ` +
      `Node ${machine.node}, fdatasync ${formatNumber(machine.fdatasyncMs * 1000)} µs; ` +
      [...(versions.length > 0 ? [versions.join(', ')] : []), `commit ${machine.commit}`].join(
        '; ',
      ),
    renderFindings(results.flatMap(({ findings }) => findings)),
    ...(latencies.length > 0 ? [renderLatencies(latencies)] : []),
    ...(notes.length > 0 ? [notes.map((note) => `- ${note}`).join('\n')] : []),
  ]
  return `${parts.join('\n\n')}\n`
}

function renderJson(
  options: BenchOptions,
  machine: Machine,
  results: ReadonlyMap<string, RowResult>,
): string {
  const rows = Object.fromEntries(
    [...results].map(([name, { findings, latencies = [], notes = [] }]) => {
      const judged = findings.map((finding) => ({ ...finding, judgement: judge(finding) }))
      return [name, { findings: judged, latencies, notes }]
    }),
  )
  const { suite, quick, clients, runs, documents, seed, against } = options
  const asked = { suite, quick, clients, runs, documents, seed, against }
  return `${JSON.stringify({ ...asked, machine, rows }, undefined, 2)}\n`
}

/** The command that repeats the measurement, without the options for its output. */
function commandOf({ suite, rows, quick, clients, ...options }: BenchOptions): string {
  const { runs, documents, seed, against } = options
  const parts = [suite]
  if (rows !== undefined) parts.push(`--rows ${rows.join(',')}`)
  if (quick) parts.push('--quick')
  if (clients !== CLIENTS_DEFAULT) parts.push(`--clients ${clients.join(',')}`)
  if (runs !== 5) parts.push(`--runs ${runs}`)
  if (documents !== undefined) parts.push(`--documents ${documents}`)
  if (seed !== 1) parts.push(`--seed ${seed}`)
  if (against !== undefined) parts.push('--against <checkout>')
  return parts.join(' ')
}

async function publishProfiles(directory: string): Promise<void> {
  for (const name of await readdir(directory, { recursive: true })) {
    if (!name.endsWith('.cpuprofile')) continue
    const file = path.join(directory, name)
    const entries = summariseProfile(JSON.parse(await readFile(file, 'utf8')), PROFILE_ENTRIES_MAX)
    const lines = entries.map(({ place, share }) => {
      return `${(share * 100).toFixed(1).padStart(5)} %  ${place}`
    })
    process.stdout.write(`\n${file}, self time while busy:\n${lines.join('\n')}\n`)
  }
}

interface TemporaryFolder extends Disposable {
  readonly path: string
}

/** Deleted at the end of its scope, or at the latest when the process exits. */
function temporaryFolder(parent: string): TemporaryFolder {
  const folder = mkdtempSync(path.join(parent, 'quarry-bench-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.once('exit', remove)
  return {
    path: folder,
    [Symbol.dispose]: () => {
      process.off('exit', remove)
      remove()
    },
  }
}

/** Leaving by `exit` kills the children and deletes the data, see ReadyProcess and above. `documents`: what was asked for. */
function endOnSignalOrDeadline(documents: number): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
  const deadlineMs = DEADLINE_MS + documents * DOCUMENT_MS
  const expire = (): void => {
    process.stderr.write(
      `bench failed: not done after ${Math.round(deadlineMs / 60_000)} minutes\n`,
    )
    process.exit(1)
  }
  setTimeout(expire, deadlineMs).unref()
}

function suiteOf({ suite }: BenchOptions): SuiteEntry {
  return must(SUITES[suite], `suite ${suite}`)
}
