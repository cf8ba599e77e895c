// The rows of the suite: all of one process and one thread, since the engine has one thread.

import path from 'node:path'
import { must } from '../../lib/assert.ts'
import { runAtOnce } from '../../lib/sliced.ts'
import { OrdinalGatherer, type OrdinalSet } from '../../node/index/host/ordinal-set.ts'
import type { Finding, RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'
import { BareUsearch } from './bare-usearch.ts'
import { QuarryVectors } from './quarry-vectors.ts'
import { comparePeer } from './compared-peer.ts'
import { searchesWhileBuilding } from './building-vectors.ts'
import { httpVectors, hybridVectors, type HttpOptions } from './http-vectors.ts'
import { measureMemory } from './memory-row.ts'
import { builtPeers } from './peers.ts'
import {
  LIMIT,
  RECALL_MIN,
  ratesOf,
  SearchJudge,
  type Passes,
  type Search,
} from './search-judge.ts'
import { buildVectorSource, DIMENSION, type VectorSource } from './vector-source.ts'

const DOCUMENTS = 100_000
const DOCUMENTS_QUICK = 20_000
const QUERIES = 200
const EFFORTS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1]
/** Each is as wide as an effort is: neither side has finer steps. */
const WIDTHS = EFFORTS.map((effort) => Math.round(16 * 64 ** effort))
const effortOf = (width: number): number => Math.max(0, Math.log(width / 16) / Math.log(64))
const F16_BYTES = 2

/** Both sides with the same documents, for all rows. */
export class VectorBench implements Disposable {
  readonly #bench: Bench
  readonly #source: VectorSource
  readonly #directory: string
  readonly #bare = new BareUsearch()
  #ours: QuarryVectors
  #ingest: Finding | undefined
  readonly #judge: SearchJudge

  private constructor(bench: Bench, directory: string, ours: QuarryVectors) {
    const count = bench.documents ?? (bench.quick ? DOCUMENTS_QUICK : DOCUMENTS)
    this.#bench = bench
    bench.progress(`making ${count} vectors`)
    this.#source = buildVectorSource(bench.seed, { count, queries: QUERIES })
    this.#judge = new SearchJudge(bench, this.#source)
    this.#directory = directory
    this.#ours = ours
  }

  static async open(bench: Bench): Promise<VectorBench> {
    const directory = path.join(bench.directory, 'vectors')
    const opened = new VectorBench(bench, directory, await QuarryVectors.open(directory))
    opened.#ingest = await opened.#write()
    return opened
  }

  /** In turns, a tenth of the documents each. */
  async #write(): Promise<Finding> {
    const { count } = this.#source
    const parts = Array.from({ length: 10 }).map((_, part) => {
      const from = Math.floor((part * count) / 10)
      const to = Math.floor(((part + 1) * count) / 10)
      return numbersFrom(from, to)
    })
    const ours: number[] = []
    const peer: number[] = []
    for (const [part, numbers] of parts.entries()) {
      this.#bench.progress(`writing part ${part + 1} of 10`)
      const bareMs = this.#judge.timeOf(() => this.#bare.write(this.#source, numbers))
      const beganMs = this.#bench.clock.monotonicMs()
      await this.#ours.write(this.#source, numbers)
      if (part === parts.length - 1) await this.#ours.settle()
      peer.push(bareMs)
      ours.push(this.#bench.clock.monotonicMs() - beganMs)
    }
    const rateOf = (ms: readonly number[]): number =>
      (count / ms.reduce((sum, one) => sum + one, 0)) * 1000
    return {
      kind: 'ratio',
      label: `ingest of ${count} given vectors, durable, flushed and merged`,
      unit: 'vectors/s',
      peerName: 'usearch add',
      ours: [rateOf(ours)],
      peer: [rateOf(peer)],
      goal: { kind: 'at-least', value: 0.7 },
    }
  }

  async ingest(): Promise<RowResult> {
    const { bytesOnDisk, bytesInMemory } = this.#ours.report()
    const perVector = bytesInMemory / this.#source.count
    return {
      findings: [must(this.#ingest, 'what was measured at the beginning')],
      notes: [
        `${Math.round(bytesOnDisk / this.#source.count)} bytes on disk and ${Math.round(perVector)} in memory ` +
          `for a vector, with what is cached of its numbers (${DIMENSION * 4}) and codes (${DIMENSION}); its ` +
          `quantised bytes, ${DIMENSION * F16_BYTES}, are mapped with the graph besides`,
        `the longest step of writing took ${this.#ours.longestStepMs.toFixed(1)} ms`,
      ],
    }
  }

  /** Each side as wide as it needs for the recall. */
  async search(): Promise<RowResult> {
    const effort = EFFORTS.find((one) => this.#judge.recall(this.#oursBy(one)) >= RECALL_MIN) ?? 1
    const width = WIDTHS.find((one) => this.#judge.recall(this.#bareBy(one)) >= RECALL_MIN) ?? 1024
    const findings = [this.#compare(`top ${LIMIT} at recall ≥ ${RECALL_MIN}`, effort, width)]
    const notes = EFFORTS.map((one) => {
      const recall = this.#judge.recall(this.#oursBy(one)).toFixed(4)
      return `effort ${one}: recall@${LIMIT} ${recall}, ${this.#judge.latency(this.#oursBy(one)).toFixed(3)} ms`
    })
    notes.push(`compared: effort ${effort} with a width of ${width}`)
    return { findings, notes }
  }

  /** Against other libraries, each with all documents, at the least width that finds as much. */
  async peers(): Promise<RowResult> {
    const { count } = this.#source
    const findings: Finding[] = []
    const notes: string[] = []
    const searchBy = (width: number): Search => this.#oursBy(effortOf(width))
    const ours = { searchBy, ingest: must(this.#ingest, 'an ingest').ours }
    for (const peer of builtPeers(count)) {
      this.#bench.progress(`writing into ${peer.name}`)
      const compared = comparePeer(peer, { source: this.#source, judge: this.#judge, ours })
      findings.push(...compared.findings)
      notes.push(...compared.notes)
    }
    if (findings.length === 0) notes.push('no other library is built: see docs/lab/benchmarks.md')
    return { findings, notes }
  }

  /** Both start a server with the same vectors. */
  async http(): Promise<RowResult> {
    return httpVectors(this.#httpOptions())
  }

  async hybrid(): Promise<RowResult> {
    return hybridVectors(this.#httpOptions())
  }

  async building(): Promise<RowResult> {
    return searchesWhileBuilding(this.#httpOptions())
  }

  /** Filters by number, and by topic: none of the documents next to a query passes then. */
  async filters(): Promise<RowResult> {
    const clusterOf = (number: number): number => this.#source.clusterOf(number)
    const filters: Readonly<Record<string, Passes>> = {
      '50 %': (number) => number % 2 === 0,
      '10 %': (number) => Math.floor(number / 7) % 10 === 3,
      '1 %': (number) => Math.floor(number / 7) % 100 === 3,
      '0.1 %': (number) => Math.floor(number / 7) % 1000 === 3,
      '50 % of other topics': (number) => clusterOf(number) % 2 === 1,
      '10 % of other topics': (number) => clusterOf(number) % 10 === 9,
    }
    const findings: Finding[] = []
    const notes: string[] = []
    for (const [name, passes] of Object.entries(filters)) {
      const filter = this.#ordinals(passes)
      const search = this.#oursBy(0.5, filter)
      const turns = this.#judge.turns(search, this.#oursBy(0.5))
      findings.push({
        kind: 'ratio',
        label: `a filter that passes ${name}`,
        unit: 'ms',
        peerName: 'without',
        ...turns,
        goal: { kind: 'at-most', value: 3 },
      })
      notes.push(`${name}: recall@${LIMIT} ${this.#judge.recall(search, passes).toFixed(4)}`)
    }
    return { findings, notes }
  }

  /** Every second document is written anew, with the vector that it had: nothing else differs. */
  async replaced(): Promise<RowResult> {
    const before = this.#judge.recall(this.#oursBy(0.5))
    const freshMs = this.#judge.latencies(this.#oursBy(0.5))
    const numbers = Array.from({ length: this.#source.count / 2 }, (_, i) => i * 2)
    await this.#ours.write(this.#source, numbers)
    await this.#ours.settle()
    const search = this.#oursBy(0.5)
    return {
      findings: [
        {
          kind: 'ratio',
          label: 'a search after every second vector was replaced',
          unit: 'ms',
          peerName: 'fresh',
          ours: this.#judge.latencies(search),
          peer: freshMs,
          goal: { kind: 'at-most', value: 1.2 },
        },
      ],
      notes: [
        `recall@${LIMIT} ${before.toFixed(4)} before, ${this.#judge.recall(search).toFixed(4)} after`,
      ],
    }
  }

  /** With the files in the page cache. */
  async start(): Promise<RowResult> {
    this.#ours[Symbol.dispose]()
    const beganMs = this.#bench.clock.monotonicMs()
    this.#ours = await QuarryVectors.open(this.#directory)
    this.#ours.nearest(must(this.#source.queries[0], 'a query'), { limit: LIMIT, effort: 0.5 })
    const ms = this.#bench.clock.monotonicMs() - beganMs
    const finding: Finding = {
      kind: 'value',
      label: `opening ${this.#source.count} vectors and the first answer`,
      unit: 'ms',
      ours: [ms],
      goal: { kind: 'below', value: 2000 },
    }
    return { findings: [finding] }
  }

  async memory(): Promise<RowResult> {
    return measureMemory(this.#source, this.#directory)
  }

  [Symbol.dispose](): void {
    this.#ours[Symbol.dispose]()
  }

  #httpOptions(): HttpOptions {
    const isWide = (width: number) => this.#judge.recall(this.#bareBy(width)) >= RECALL_MIN
    const bare = this.#bareBy(WIDTHS.find(isWide) ?? 1024)
    return { bench: this.#bench, source: this.#source, judge: this.#judge, efforts: EFFORTS, bare }
  }

  #oursBy(effort: number, filter?: OrdinalSet): Search {
    const asked = { limit: LIMIT, effort, ...(filter === undefined ? {} : { filter }) }
    return (query) => this.#ours.nearest(query, asked)
  }

  #bareBy(width: number): Search {
    return (query) => this.#bare.nearest(query, { limit: LIMIT, width })
  }

  #compare(label: string, effort: number, width: number): Finding {
    const { ours, peer } = this.#judge.turns(this.#oursBy(effort), this.#bareBy(width))
    return {
      kind: 'ratio',
      label,
      unit: 'queries/s',
      peerName: 'usearch',
      ours: ratesOf(ours),
      peer: ratesOf(peer),
      goal: { kind: 'at-least', value: 0.8 },
    }
  }

  #ordinals(passes: Passes): OrdinalSet {
    const gatherer = new OrdinalGatherer()
    for (let number = 0; number < this.#source.count; number += 1) {
      if (passes(number)) gatherer.add(number)
    }
    return runAtOnce(gatherer.finish())
  }
}

function numbersFrom(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}
