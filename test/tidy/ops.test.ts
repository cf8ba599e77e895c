// What operators are told about metrics is true: docs/reference/metrics.md, the alerts and the dashboard in ops/
// against what both servers really export.

import { globSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { loadAll } from 'js-yaml'
import { must } from '../../lib/assert.ts'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode } from '../../node/main.ts'
import { writeTinyEmbedder } from '../support/inference/model-directories.ts'
import { NodeProcesses } from '../support/processes/node-processes.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import { parseScrape, seriesNames } from '../support/servers/scraped-metrics.ts'
import { StoreClient } from '../support/servers/store-client.ts'
import {
  expectDocumented,
  expectPanelsFit,
  expressionsIn,
  namesIn,
  OURS,
  OURS_OR_STANDARD,
  promtool,
  textOf,
} from './documented-metrics.ts'
import type { Families } from './documented-metrics.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const CLUSTER = /^quarry_cluster_/

describe('the documentation of metrics', function () {
  this.timeout(200_000)

  let directory = ''
  let store: Families
  let inference: Families
  let cluster: Families
  /** What a node of a cluster tells beside its cluster. */
  let others: readonly string[]

  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-ops-'))
    store = await scrapeStore(directory)
    inference = await scrapeInference()
    const node = await scrapeClusterNode()
    others = [...node.keys()].filter((name) => !CLUSTER.test(name))
    cluster = new Map([...node].filter(([name]) => CLUSTER.test(name)))
  })

  after(() => rm(directory, { recursive: true }))

  const exported = (): ReadonlySet<string> =>
    seriesNames([...store.values(), ...inference.values(), ...cluster.values()])

  it('names every metric of the store, with type, labels and meaning', () => {
    expectDocumented(store, 'The store')
  })

  it('names every metric of the inference server, with type, labels and meaning', () => {
    expectDocumented(inference, 'The inference server')
  })

  it('names every metric of a cluster, with type, labels and meaning', () => {
    expectDocumented(cluster, 'The cluster')
  })

  it('finds everything that a store in swarm mode tells at a node of a cluster too', () => {
    expect(others).to.have.members([...store.keys()])
  })

  it('uses standard names for what every process has', () => {
    for (const families of [store, inference]) {
      expect([...families.keys()]).to.include.members([
        'process_cpu_seconds_total',
        'process_resident_memory_bytes',
        'process_start_time_seconds',
        'nodejs_eventloop_lag_p99_seconds',
        'nodejs_heap_size_used_bytes',
        'quarry_build_info',
      ])
    }
  })

  it('ends the names of counters, and of nothing else, in _total', () => {
    const all = [...store.values(), ...inference.values(), ...cluster.values()]
    const wrong = all.filter(({ name, type }) => name.endsWith('_total') !== (type === 'counter'))
    expect(wrong.map(({ name }) => name)).to.deep.equal([])
  })

  it('alerts only about exported metrics', () => {
    const rules = textOf('ops/prometheus/alerts.yaml')
    const names = expressionsIn(rules).flatMap((text) => namesIn(text, OURS_OR_STANDARD))

    expect(names.filter((name) => !exported().has(name))).to.deep.equal([])
  })

  it('explains and tests alerts by existing metrics and alerts', () => {
    const rules = textOf('ops/prometheus/alerts.yaml')
    const tests = textOf('ops/prometheus/alerts.test.yaml')
    const alerts = new Set([...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name))
    const tested = [...tests.matchAll(/alertname: (\w+)/g)].map(([, name]) => name)
    const known = new Set([...exported(), ...store.keys(), ...inference.keys(), ...cluster.keys()])

    expect(tested.filter((name) => !alerts.has(name))).to.deep.equal([])
    expect(namesIn(rules + tests, OURS).filter((name) => !known.has(name))).to.deep.equal([])
  })

  it('has rules that Prometheus takes', () => {
    expect(promtool('check', 'rules', 'alerts.yaml')).to.match(/SUCCESS: \d+ rules found/)
  })

  it('has alerts that fire, and keep quiet, as their examples say', () => {
    expect(promtool('test', 'rules', 'alerts.test.yaml')).to.include('SUCCESS')
  })

  it('shows only exported metrics in the dashboard', () => {
    const names = namesIn(textOf('ops/grafana/quarry.json'), OURS_OR_STANDARD)

    expect(names.length).to.be.greaterThan(40)
    expect(names.filter((name) => !exported().has(name))).to.deep.equal([])
  })

  it('has panels with numbers of their own, on a grid of 24 columns', () => {
    expectPanelsFit(textOf('ops/grafana/quarry.json'))
  })

  it('parses as YAML', () => {
    const files = globSync('ops/**/*.yaml', { cwd: ROOT })

    const documents = files.flatMap((file) => loadAll(textOf(file), { filename: file }))

    expect(files.length).to.be.greaterThan(1)
    expect(documents.length).to.be.at.least(files.length)
  })
})

/** After some use, so that what has labels has samples. */
async function scrapeStore(dataDir: string): Promise<Families> {
  const flags = { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
  await using node = await startNode(parseNodeConfig({}, flags))
  using client = new StoreClient(node.apiUrl)
  await client.createTable('books', {})
  await client.batch('books', { inserts: { a: { title: 'tide' } }, sync_level: 'full_text' })
  await client.succeed('POST', '/api/v1/tables/books/query', {
    full_text_search: { query: 'tide' },
  })
  return await scrape(node.healthUrl) // before it closes
}

/** A node of a cluster, with a real etcd below it. */
async function scrapeClusterNode(): Promise<Families> {
  await using nodes = await NodeProcesses.start(1)
  const running = must(nodes.nodes[0]?.process, 'the node')
  using client = new StoreClient(running.api)
  await client.createTable('books', { replication_factor: 1, min_in_sync: 1 })
  await client.batch('books', { inserts: { a: { title: 'tide' } }, sync_level: 'full_text' })
  await client.succeed('POST', '/api/v1/tables/books/query', {
    full_text_search: { query: 'tide' },
  })
  return await scrape(running.health)
}

async function scrapeInference(): Promise<Families> {
  await using server = await InferenceServer.start(writeModels)
  const { status } = await server.post('/api/embed', { model: 'tiny', input: 'hello worlds' })
  expect(status).to.equal(200)
  return await scrape(server.running.healthUrl)
}

function writeModels(root: string): Promise<unknown> {
  return writeTinyEmbedder(path.join(root, 'embedders/tiny'))
}

async function scrape(health: string): Promise<Families> {
  const response = await fetch(`${health}/metrics`)
  expect(response.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/)
  return parseScrape(await response.text())
}
