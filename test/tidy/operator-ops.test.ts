// What people are told about the metrics of the operator is true: docs/reference/metrics.md, the alerts and the dashboard in ops/
// against what the operator exports.

import { expect } from 'chai'
import { clusterLines } from '../../operator/metrics/cluster-metrics.ts'
import { runtimeLines } from '../../operator/runtime/health/runtime-metrics.ts'
import { CLUSTER_CASES } from '../support/operator/cluster-cases.ts'
import { NOW_MS } from '../support/operator/cluster-states.ts'
import { measuredRuntime } from '../support/operator/measured-runtime.ts'
import { pass } from '../support/operator/settle.ts'
import { parseScrape, seriesNames } from '../support/servers/scraped-metrics.ts'
import {
  expectDocumented,
  expectPanelsFit,
  expressionsIn,
  namesIn,
  OURS,
  promtool,
  textOf,
} from './documented-metrics.ts'
import type { Families } from './documented-metrics.ts'

const ALERTS = 'ops/prometheus/operator-alerts.yaml'
const TESTS = 'ops/prometheus/operator-alerts.test.yaml'
const DASHBOARD = 'ops/grafana/operator.json'

describe('the documentation of the metrics of the operator', () => {
  let families: Families

  before(async () => {
    families = parseScrape([...(await runtimeScrape()), ...clusterScrape()].join('\n'))
  })

  it('names every metric, with type, labels and meaning', () => {
    expectDocumented(families, 'The operator')
  })

  it('ends the names of counters, and of nothing else, in _total', () => {
    const wrong = [...families.values()].filter(
      ({ name, type }) => name.endsWith('_total') !== (type === 'counter'),
    )

    expect(wrong.map(({ name }) => name)).to.deep.equal([])
  })

  it('alerts only about exported metrics, and explains and tests each alert', () => {
    const exported = seriesNames(families.values())
    const rules = textOf(ALERTS)
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].flatMap(([, name]) => name ?? [])
    const tested = new Set([...textOf(TESTS).matchAll(/alertname: (\w+)/g)].map(([, name]) => name))
    const names = [...expressionsIn(rules), textOf(TESTS)].flatMap((text) => namesIn(text, OURS))

    expect(names.filter((name) => !exported.has(name))).to.deep.equal([])
    expect(new Set(alerts)).to.deep.equal(tested)
    expect(rules.match(/^ {10}description: .+\.'?$/gm)).to.have.length(alerts.length)
  })

  it('has rules that Prometheus takes, and that fire as their examples say', () => {
    expect(promtool('check', 'rules', 'operator-alerts.yaml')).to.match(/SUCCESS: \d+ rules found/)
    expect(promtool('test', 'rules', 'operator-alerts.test.yaml')).to.include('SUCCESS')
  })

  it('shows every exported metric in the dashboard, but for two, and no other', () => {
    const exported = seriesNames(families.values())
    const shown = namesIn(textOf(DASHBOARD), OURS)
    const unshown = [...families.keys()].filter(
      (name) => !shown.some((one) => one === name || one === `${name}_bucket`),
    )

    expect(shown.filter((name) => !exported.has(name))).to.deep.equal([])
    expect(unshown).to.have.members([
      'quarry_operator_queue_oldest_seconds',
      'quarry_operator_cluster_phase',
    ])
  })

  it('has panels with numbers of their own, on a grid of 24 columns', () => {
    expectPanelsFit(textOf(DASHBOARD))
  })
})

/** After a pass and a list, so that what has labels has samples. */
async function runtimeScrape(): Promise<readonly string[]> {
  const runtime = measuredRuntime()
  const [cache] = runtime.caches
  cache?.start()
  runtime.workers.start()
  runtime.queue.add('a')
  await pass(runtime.clock, 3_700_000)
  const lines = runtimeLines({ ...runtime, answers: new Map([['GET 200', 3]]) })
  await cache?.stop()
  return lines
}

function clusterScrape(): readonly string[] {
  const objects = Object.entries(CLUSTER_CASES).map(([name, cluster]) => {
    const { object } = cluster()
    return { ...object, metadata: { ...object.metadata, name: name.replaceAll(' ', '-') } }
  })
  return clusterLines(objects, NOW_MS)
}
