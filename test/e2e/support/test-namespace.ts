// A namespace of one test file, which enforces the restricted level of Pod Security.

import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { collectFailure } from './failure-report.ts'
import { openTier, START_LIMIT_MS, type Tier, type TierName } from './tier.ts'
import type { ProgramOptions } from './program.ts'

const FIELD_MANAGER = 'quarry-e2e'
const CLEAN_UP_LIMIT_MS = 240_000
/** Names of objects in a namespace may need the rest of a label's 63 characters. */
const NAME_LENGTH_MAX = 30

/** One object, or several in a list. */
export type Manifest = object | readonly object[]

export class TestNamespace {
  readonly tier: Tier
  readonly name: string

  constructor(tier: Tier, name: string) {
    this.tier = tier
    this.name = name
  }

  static async create(tier: Tier, title: string): Promise<TestNamespace> {
    const name = `${title.slice(0, NAME_LENGTH_MAX)}-${randomBytes(3).toString('hex')}`
    const namespace = new TestNamespace(tier, name)
    const labels = {
      'quarry.dev/e2e': 'true',
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/enforce-version': 'latest',
    }
    await namespace.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
    await tier.kubectl(['wait', '--for=create', 'serviceaccount/default', ...namespace.here()])
    return namespace
  }

  /** What kubectl prints in this namespace. */
  kubectl(args: readonly string[], options?: ProgramOptions): Promise<string> {
    return this.tier.kubectl([...this.here(), ...args], options)
  }

  /** Server-side apply; the API server's refusal is the message of the failure. */
  apply(
    manifest: Manifest,
    manager = FIELD_MANAGER,
    flags: readonly string[] = [],
  ): Promise<string> {
    const input = JSON.stringify(
      Array.isArray(manifest) ? { apiVersion: 'v1', kind: 'List', items: manifest } : manifest,
    )
    const apply = ['apply', '--server-side', `--field-manager=${manager}`]
    return this.kubectl([...apply, ...flags, '-f', '-'], { input })
  }

  async get<Kind = Record<string, unknown>>(kind: string, name: string): Promise<Kind> {
    return JSON.parse(await this.kubectl(['get', kind, name, '-o', 'json']))
  }

  /** The value at a path of kubectl's JSONPath, as text. */
  value(kind: string, name: string, jsonPath: string): Promise<string> {
    return this.kubectl(['get', kind, name, '-o', `jsonpath=${jsonPath}`])
  }

  /** As `kubectl drain` asks for a pod; rejects where a budget forbids it. */
  async evict(pod: string): Promise<void> {
    const metadata = { name: pod, namespace: this.name }
    const input = JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata })
    const eviction = `/api/v1/namespaces/${this.name}/pods/${pod}/eviction`
    await this.kubectl(['create', '--raw', eviction, '-f', '-'], { input })
  }

  async delete(): Promise<void> {
    await this.removeClusters()
    await this.tier.kubectl(['delete', 'namespace', this.name, '--timeout=180s'], {
      limitMs: CLEAN_UP_LIMIT_MS,
    })
  }

  /** Clusters lose their finalizer first: no operator may be left to take it away, or one that would put it back. */
  async removeClusters(): Promise<void> {
    await this.#releaseClusters()
    // Kubernetes looks again at a namespace with pods after half of their grace: a minute, for those of a cluster.
    const wait = '--timeout=100s'
    const ofClusters = '--selector=app.kubernetes.io/component in (node,etcd)'
    await this.kubectl(['delete', 'statefulsets', ofClusters, '--cascade=foreground', wait])
    await this.kubectl(['delete', 'pods', ofClusters, wait])
  }

  async #releaseClusters(): Promise<void> {
    const kinds = await this.tier.kubectl(['api-resources', '--api-group=quarry.dev', '-o', 'name'])
    if (!kinds.includes('storeclusters.quarry.dev')) return
    const kind = 'storeclusters.quarry.dev'
    // An object that is being deleted takes no finalizer more.
    await this.kubectl(['delete', kind, '--all', '--wait=false'])
    const names = await this.kubectl(['get', kind, '-o', 'name'])
    for (const name of names.split('\n').filter((line) => line !== '')) {
      const none = '{"metadata":{"finalizers":null}}'
      await this.kubectl(['patch', name, '--type=merge', '-p', none]).catch(ignoreAbsence)
    }
  }

  here(): readonly string[] {
    return ['--namespace', this.name]
  }
}

/** The operator was faster. */
function ignoreAbsence(error: unknown): void {
  if (!String(error).includes('NotFound')) throw error
}

/**
 * A namespace for the tests of a `describe`: made before them, removed after them (kept with QUARRY_E2E_KEEP=1). What the
 * cluster knows at the end of a failed test is collected.
 */
export function useNamespace(tierName: TierName, file: string): () => TestNamespace {
  let namespace: TestNamespace | undefined
  before('a namespace', async function () {
    this.timeout(START_LIMIT_MS)
    const title = path.basename(file).replace(/\..*$/, '')
    namespace = await TestNamespace.create(await openTier(tierName), title)
  })
  afterEach('collect what a failure left', async function () {
    this.timeout(CLEAN_UP_LIMIT_MS)
    if (this.currentTest?.state !== 'failed' || namespace === undefined) return
    const where = await collectFailure(namespace, this.currentTest.fullTitle())
    process.stdout.write(`     collected in ${where}\n`)
  })
  after('remove the namespace', async function () {
    this.timeout(CLEAN_UP_LIMIT_MS)
    if (process.env['QUARRY_E2E_KEEP'] !== '1') await namespace?.delete()
  })
  return () => {
    if (namespace === undefined) throw new Error('the namespace is there only inside of tests')
    return namespace
  }
}
