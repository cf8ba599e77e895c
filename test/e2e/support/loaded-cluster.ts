// A StoreCluster of three nodes with an etcd of its own, under a load that never pauses.

import { eventually } from './eventually.ts'
import { installOperator, uninstallOperator } from './installed-operator.ts'
import { LoadPod, type LoadReport } from './load-pod.ts'
import type { TestNamespace } from './test-namespace.ts'

const NAME = 'books'
const TABLE = 'counted'
const WAIT = '--timeout=600s'
const WAIT_LIMIT_MS = 620_000

type Component = 'node' | 'etcd'

/** For the tests of a `describe`: the operator and a cluster of it under a load, made before them and removed after them. */
export function useLoadedCluster(namespace: () => TestNamespace): () => LoadedCluster {
  let cluster: LoadedCluster | undefined
  before('a cluster under a load', async () => {
    const image = await installOperator(namespace())
    cluster = new LoadedCluster(namespace(), image)
    await cluster.create()
    await cluster.load()
  })
  after('the load', async () => cluster?.[Symbol.asyncDispose]())
  after('the operator', () => uninstallOperator(namespace()))
  return () => {
    if (cluster === undefined) throw new Error('the cluster is there only inside of tests')
    return cluster
  }
}

/**
 * Contract:
 * - `during` resolves when what it was given is done and the cluster is ready, does nothing, and takes writes; it prints
 *   what the load met meanwhile. The gaps are figures for people, not limits.
 * - `lost` stops the load, and tells which acknowledged documents a scan does not have.
 */
export class LoadedCluster implements AsyncDisposable {
  readonly name = NAME
  readonly #namespace: TestNamespace
  readonly #image: string
  #load: LoadPod | undefined

  /** The image is that of the load; that of the cluster is the operator's choice. */
  constructor(namespace: TestNamespace, image: string) {
    this.#namespace = namespace
    this.#image = image
  }

  /** Resolves when it is ready; prints how long that took. */
  async create(): Promise<void> {
    const begunMs = Date.now()
    await this.#namespace.apply(threeNodes())
    await this.reaches('condition=Ready')
    print(`ready after ${Date.now() - begunMs} ms`)
  }

  /** The load runs beside the first node, whose Kubernetes node no test may take away. */
  async load(): Promise<void> {
    await this.quarry('table', 'create', TABLE, '--shards', '3')
    const nodeName = await this.placeOf(`${NAME}-node-0`)
    const place = { image: this.#image, service: NAME, table: TABLE, nodeName }
    this.#load = await LoadPod.start(this.#namespace, place)
  }

  async during(what: string, act: () => Promise<unknown>): Promise<LoadReport> {
    const load = this.#running()
    load.mark()
    await act()
    await this.settles()
    await load.advances()
    const report = load.report()
    const met = [...report.troubles].map(([line, count]) => `${count} × ${line}`).join('; ')
    print(`${what}: ${report.writes} writes, longest gap ${report.longestGapMs} ms; ${met}`)
    return report
  }

  /** The operator has nothing left to do, and nothing is wrong. */
  async settles(): Promise<void> {
    await this.reaches('condition=Progressing=False')
    await this.reaches('condition=Degraded=False')
    await this.reaches('condition=Ready')
  }

  /** Resolves when the operator has seen the edit. */
  async edit(spec: object): Promise<void> {
    const patch = ['patch', 'storecluster', NAME, '--type=merge', '-p', JSON.stringify({ spec })]
    await this.#namespace.kubectl(patch)
    await this.#isSeen()
  }

  /** By `kubectl scale`, as an autoscaler does. Resolves when the operator has seen it. */
  async scale(nodes: number): Promise<void> {
    await this.#namespace.kubectl(['scale', 'storecluster', NAME, `--replicas=${nodes}`])
    await this.#isSeen()
  }

  /** Waits as `kubectl wait --for` does. */
  async reaches(what: string): Promise<void> {
    const wait = ['wait', `--for=${what}`, WAIT, `storecluster/${NAME}`]
    await this.#namespace.kubectl(wait, { limitMs: WAIT_LIMIT_MS })
  }

  status(jsonPath: string): Promise<string> {
    return this.#namespace.value('storecluster', NAME, `{.status.${jsonPath}}`)
  }

  /** The reason that a condition has now, or comes to have soon. */
  async told(type: string, reason: string): Promise<void> {
    await eventually(
      `${type} has the reason ${reason}`,
      () => this.status(`conditions[?(@.type=="${type}")].reason`),
      (now) => now === reason,
    )
  }

  /** The UIDs of the pods of a component, by their names. */
  podUIDs(component: Component): Promise<ReadonlyMap<string, string>> {
    return this.#uids('pods', component)
  }

  /** The UIDs of the claims of a component, by their names. */
  claimUIDs(component: Component): Promise<ReadonlyMap<string, string>> {
    return this.#uids('pvc', component)
  }

  /** The Kubernetes node of a pod. */
  placeOf(pod: string): Promise<string> {
    return this.#namespace.value('pod', pod, '{.spec.nodeName}')
  }

  quarry(...args: readonly string[]): Promise<string> {
    return this.#namespace.kubectl(['exec', `${NAME}-node-0`, '--', 'quarry', ...args])
  }

  async lost(): Promise<readonly number[]> {
    const acknowledged = this.#running().acknowledged()
    await this[Symbol.asyncDispose]()
    const found = await this.found()
    print(`${acknowledged.length} documents acknowledged, ${found.size} found`)
    return acknowledged.filter((number) => !found.has(number))
  }

  /** The numbers of all documents. */
  async found(): Promise<ReadonlySet<number>> {
    const lines = (await this.quarry('scan', TABLE)).split('\n').filter((line) => line !== '')
    return new Set(lines.map((line) => Number(JSON.parse(line).key)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const load = this.#load
    this.#load = undefined
    await load?.[Symbol.asyncDispose]()
  }

  async #uids(kind: string, component: Component): Promise<ReadonlyMap<string, string>> {
    const selector = `app.kubernetes.io/instance=${NAME},app.kubernetes.io/component=${component}`
    const fields = '{range .items[*]}{.metadata.name} {.metadata.uid}{"\\n"}{end}'
    const get = ['get', kind, '-l', selector, '-o', `jsonpath=${fields}`]
    const lines = (await this.#namespace.kubectl(get)).split('\n').filter((line) => line !== '')
    return new Map(lines.map((line) => line.split(' ')).map(([name = '', uid = '']) => [name, uid]))
  }

  async #isSeen(): Promise<void> {
    const generation = '{.metadata.generation}'
    const edited = await this.#namespace.value('storecluster', NAME, generation)
    await this.reaches(`jsonpath={.status.observedGeneration}=${edited}`)
  }

  #running(): LoadPod {
    if (this.#load === undefined) throw new Error('no load')
    return this.#load
  }
}

export function print(line: string): void {
  process.stdout.write(`      ${line}\n`)
}

function threeNodes(): object {
  return {
    apiVersion: 'quarry.dev/v1alpha1',
    kind: 'StoreCluster',
    metadata: { name: NAME },
    spec: {
      nodes: { replicas: 3, storage: { size: '1Gi' } },
      etcd: { storage: { size: '1Gi' } },
      inference: { enabled: false },
      updateStrategy: { minReadySeconds: 1 },
    },
  }
}
