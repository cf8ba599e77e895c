// The operator in this process, with the rights of its account, over stubs. It can be stopped as SIGKILL stops a process:
// from one moment on nothing that it does reaches anybody.

import { KubeConfig } from '@kubernetes/client-node'
import type { Log } from '../../../../lib/log.ts'
import { parseOperatorConfig } from '../../../../operator/config.ts'
import { startOperator } from '../../../../operator/main.ts'
import type { RunningOperator } from '../../../../operator/main.ts'
import type { AdminSource } from '../../../../operator/reconcile/admins.ts'
import { CLUSTER_RULES, LEADER_RULES } from '../../../../operator/resources/permissions.ts'
import type { KubernetesApi } from '../../../../operator/runtime/api/kubernetes-api.ts'
import type { TestNamespace } from '../test-namespace.ts'

const ACCOUNT = 'quarry-operator'

/** The user that the operator is for the API server. */
export function operatorUser({ name }: TestNamespace): string {
  return `system:serviceaccount:${name}:${ACCOUNT}`
}

/** The account of the operator, with the rights that the chart gives it in a namespace, and no others. */
export async function applyAccount(namespace: TestNamespace): Promise<void> {
  const rbac = 'rbac.authorization.k8s.io'
  const subject = { kind: 'ServiceAccount', name: ACCOUNT, namespace: namespace.name }
  const metadata = { name: ACCOUNT }
  await namespace.apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata,
      rules: [...CLUSTER_RULES, ...LEADER_RULES],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: ACCOUNT },
      subjects: [subject],
    },
  ])
}

export function adminConfig({ tier }: TestNamespace): KubeConfig {
  const config = new KubeConfig()
  config.loadFromFile(tier.kubeconfig)
  return config
}

export function operatorKubeConfig(namespace: TestNamespace, apiPort?: number): KubeConfig {
  const config = adminConfig(namespace)
  const [user] = config.users
  const [cluster] = config.clusters
  if (user === undefined || cluster === undefined) throw new RangeError('a kubeconfig with a user')
  config.users = [{ ...user, impersonateUser: operatorUser(namespace) }]
  const server = new URL(cluster.server)
  if (apiPort !== undefined) server.port = `${apiPort}`
  config.clusters = [{ ...cluster, server: server.origin }]
  return config
}

/** Where the API server listens on this machine. */
export function apiPortOf(namespace: TestNamespace): number {
  return Number(new URL(adminConfig(namespace).clusters[0]?.server ?? '').port)
}

/** Every line, for tests that look for what must not be in one. */
export class KeptLog implements Log {
  readonly lines: string[] = []
  #keep(message: string, fields?: Readonly<Record<string, unknown>>): void {
    this.lines.push(JSON.stringify({ message, ...fields }))
  }
  debug = this.#keep.bind(this)
  info = this.#keep.bind(this)
  warn = this.#keep.bind(this)
  error = this.#keep.bind(this)
}

/** When the process dies. `deed` counts writes to the API server and what stores and etcds are asked to do, from 1. */
export interface Death {
  readonly deed: number
  /** Whether the deed happens and its answer is lost. */
  readonly isDone: boolean
}

class Killed extends Error {}

/** Stands between the operator and everybody else. */
class Connection {
  readonly #death: Death | undefined
  readonly #onDeath: () => void
  #deeds = 0
  isCut = false

  constructor(death: Death | undefined, onDeath: () => void) {
    this.#death = death
    this.#onDeath = onDeath
  }

  get deeds(): number {
    return this.#deeds
  }

  cut(): void {
    this.isCut = true
    this.#onDeath()
  }

  read<T>(read: () => T): T {
    if (this.isCut) throw new Killed('the process is dead')
    return read()
  }

  async write<T>(write: () => Promise<T>): Promise<T> {
    if (this.isCut) throw new Killed('the process is dead')
    this.#deeds += 1
    if (this.#deeds !== this.#death?.deed) return write()
    if (this.#death.isDone) await write().catch(() => undefined)
    this.cut()
    throw new Killed('the process is dead')
  }

  api(api: KubernetesApi): KubernetesApi {
    return {
      list: async (...args) => this.read(() => api.list(...args)),
      watch: (...args) => this.read(() => api.watch(...args)),
      get: async (...args) => this.read(() => api.get(...args)),
      create: (...args) => this.write(() => api.create(...args)),
      replace: (...args) => this.write(() => api.replace(...args)),
      apply: (...args) => this.write(() => api.apply(...args)),
      patch: (...args) => this.write(() => api.patch(...args)),
      delete: (...args) => this.write(() => api.delete(...args)),
    }
  }

  admins(admins: AdminSource): AdminSource {
    return {
      store: (...args) => {
        const store = admins.store(...args)
        return {
          look: async () => this.read(() => store.look()),
          handOver: (id) => this.write(() => store.handOver(id)),
          drain: (of) => this.write(() => store.drain(of)),
          undrain: (of) => this.write(() => store.undrain(of)),
          decommission: (of) => this.write(() => store.decommission(of)),
          forget: (id) => this.write(() => store.forget(id)),
        }
      },
      inference: (...args) => this.read(() => admins.inference(...args)),
      etcd: (...args) => {
        const etcd = admins.etcd(...args)
        return {
          look: async (signal) => this.read(() => etcd.look(signal)),
          addMember: (name, signal) => this.write(() => etcd.addMember(name, signal)),
          promoteMember: (id, signal) => this.write(() => etcd.promoteMember(id, signal)),
          removeMember: (id, signal) => this.write(() => etcd.removeMember(id, signal)),
          moveLeader: (of, signal) => this.write(() => etcd.moveLeader(of, signal)),
          defragment: (id, signal) => this.write(() => etcd.defragment(id, signal)),
          disarmAlarm: (id, signal) => this.write(() => etcd.disarmAlarm(id, signal)),
          [Symbol.asyncDispose]: async () => undefined,
        }
      },
    }
  }
}

export interface TestedOptions {
  readonly namespace: TestNamespace
  readonly admins: AdminSource
  readonly log?: KeptLog
  readonly leaseName?: string
  readonly podName?: string
  readonly death?: Death
  /** By which port of this machine the API server is reached. Default: its own. */
  readonly apiPort?: number
}

/**
 * Contract:
 * - `died` resolves when the process has died by `death` or `kill`. Nothing of it reaches anybody afterwards.
 * - `lost` resolves when it does not lead any more. A real process would end then.
 */
export class TestedOperator implements AsyncDisposable {
  readonly log: KeptLog
  readonly died: Promise<void>
  readonly lost: Promise<string>
  readonly #connection: Connection
  readonly #running: RunningOperator

  private constructor(parts: {
    readonly log: KeptLog
    readonly died: Promise<void>
    readonly lost: Promise<string>
    readonly connection: Connection
    readonly running: RunningOperator
  }) {
    this.log = parts.log
    this.died = parts.died
    this.lost = parts.lost
    this.#connection = parts.connection
    this.#running = parts.running
  }

  static async start(options: TestedOptions): Promise<TestedOperator> {
    const { namespace, admins, log = new KeptLog(), leaseName = '', podName = 'one' } = options
    const { apiPort } = options
    const died = Promise.withResolvers<void>()
    const lost = Promise.withResolvers<string>()
    const connection = new Connection(options.death, died.resolve)
    const config = {
      ...parseOperatorConfig({ POD_NAME: podName, POD_NAMESPACE: namespace.name }, {}),
      watchNamespaces: [namespace.name],
      leaseName,
      healthPort: 0,
      metricsPort: 0,
    }
    const running = await startOperator(config, {
      kubeConfig: operatorKubeConfig(namespace, apiPort),
      through: (api) => connection.api(api),
      admins: connection.admins(admins),
      log,
      onLost: lost.resolve,
    })
    return new TestedOperator({
      log,
      died: died.promise,
      lost: lost.promise,
      connection,
      running,
    })
  }

  get metricsUrl(): string {
    return this.#running.metricsUrl
  }

  /** Writes and steering so far. */
  get deeds(): number {
    return this.#connection.deeds
  }

  /** As SIGKILL. What remains of it in memory is cleared away. */
  async kill(): Promise<void> {
    if (!this.#connection.isCut) this.#connection.cut()
    await this.#running.close('killed')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.close('the test is over')
  }
}
