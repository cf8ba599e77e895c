// Rows `memory` and `size`: the memory and the disk space of the articles' index.

import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import type { RowResult } from '../report/finding.ts'
import { readProcessMemory } from '../process-memory.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench } from '../suite.ts'
import { buildArticleSource } from '../data/article-source.ts'
import { ARTICLES_DIRECTORY } from './article-store.ts'
import type { ArticleStore } from './article-store.ts'
import { searchPlan } from './http-searches.ts'

const INDEXES = 'indexes'
const MIB = 2 ** 20

/** Values of the setting that bounds the memory of text indexes; the second is the default. */
const TEXT_MEMORY_MIB = { small: 32, default: 192 } as const
const CLIENTS = 16
/** Enough to have read what is read often. */
const SEARCHES = 3000
const SEARCHES_QUICK = 300

/** Measures after the work of the rows before, and again with another limit of memory. */
export async function servedMemory(bench: Bench, store: ArticleStore): Promise<RowResult> {
  const server = await store.loaded()
  const { resident, anonymous, file, residentPeak } = await readProcessMemory(server.process.pid)
  const label = `resident memory of the server, ${formatNumber(store.documents)} articles`
  const small = await memoryAfterSearches(bench, store, TEXT_MEMORY_MIB.small)
  const usual = await memoryAfterSearches(bench, store, TEXT_MEMORY_MIB.default)
  await store.stop()
  const more = TEXT_MEMORY_MIB.default - TEXT_MEMORY_MIB.small
  return {
    findings: [
      {
        kind: 'value',
        label: `${label}, after ingest and searches`,
        unit: 'MiB',
        ours: [resident],
      },
      { kind: 'value', label: boundedLabel(TEXT_MEMORY_MIB.small), unit: 'MiB', ours: [small] },
      { kind: 'value', label: boundedLabel(TEXT_MEMORY_MIB.default), unit: 'MiB', ours: [usual] },
      {
        kind: 'value',
        label: `what ${more} MiB more of text memory cost`,
        unit: 'MiB',
        ours: [usual - small],
        goal: { kind: 'at-most', value: more },
      },
    ],
    notes: [
      `${label}: anonymous ${formatNumber(anonymous)} MiB, files ${formatNumber(file)} MiB; ` +
        `at its peak resident ${formatNumber(residentPeak)} MiB`,
    ],
  }
}

function boundedLabel(mebibytes: number): string {
  return `the same with ${mebibytes} MiB of text memory, after a restart and searches`
}

/** Resident, in MiB. */
async function memoryAfterSearches(
  bench: Bench,
  store: ArticleStore,
  mebibytes: number,
): Promise<number> {
  bench.progress(`memory: searches with ${mebibytes} MiB of text memory`)
  const server = await store.restart({ index_memory_bytes: mebibytes * MIB })
  const requestsMax = bench.quick ? SEARCHES_QUICK : SEARCHES
  const { documents } = store
  await bench.generator.load({
    origin: server.origin,
    clients: CLIENTS,
    plan: { ...searchPlan({ documents, articlesSeed: bench.seed, run: 0 }), requestsMax },
    until: { kind: 'end-of-plan' },
  })
  return (await readProcessMemory(server.process.pid)).resident
}

/** Ends the server first, so that the whole index is on disk. */
export async function indexSize(bench: Bench, store: ArticleStore): Promise<RowResult> {
  await store.stop()
  const folder = path.join(bench.directory, ARTICLES_DIRECTORY, INDEXES)
  const indexBytes = await bytesIn(folder)
  const textBytes = textBytesOf(bench.seed, store.documents)
  return {
    findings: [
      {
        kind: 'ratio',
        label: `size of the index of ${formatNumber(store.documents)} articles`,
        unit: 'MiB',
        peerName: 'titles and bodies',
        ours: [indexBytes / MIB],
        peer: [textBytes / MIB],
        goal: { kind: 'at-most', value: 0.6 },
      },
    ],
  }
}

async function bytesIn(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(path.join(entry.parentPath, entry.name))).size
  }
  return bytes
}

/** They are ASCII. */
function textBytesOf(seed: number, documents: number): number {
  const articles = buildArticleSource(seed)
  let bytes = 0
  for (let index = 0; index < documents; index += 1) {
    const { title, body } = articles.articleAt(index)
    bytes += title.length + body.length
  }
  return bytes
}
