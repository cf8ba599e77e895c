// Numbered documents, written through the client Service from a pod; what was acknowledged is kept outside of the cluster.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { eventually } from './eventually.ts'
import type { TestNamespace } from './test-namespace.ts'

/** In the pod: some writers, each with the next number as soon as it has an answer. A number is written until it is acknowledged. */
const WRITER = `
const [url, writers] = process.argv.slice(1)
let next = 0
const write = async () => {
  for (;;) {
    const number = next++
    for (;;) {
      try {
        const body = JSON.stringify({ inserts: { [String(number).padStart(9, '0')]: { number } } })
        const headers = { 'content-type': 'application/json' }
        const signal = AbortSignal.timeout(5000)
        const answer = await fetch(url, { method: 'POST', headers, body, signal })
        const text = await answer.text()
        if (answer.ok) break
        console.log('refused ' + answer.status + ' ' + text.slice(0, 200).replaceAll('\\n', ' '))
      } catch (error) {
        console.log('failed ' + (error.cause?.code ?? error.name))
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    console.log('ack ' + number + ' ' + Date.now())
  }
}
for (let i = 0; i < Number(writers); i++) void write()
`
const WRITERS = 4

/** What a load has met since it was marked last. */
export interface LoadReport {
  readonly writes: number
  /** The longest time without any acknowledgement, of all writers together, by the clock of the pod's machine. */
  readonly longestGapMs: number
  /** How often each refusal or failure was met. */
  readonly troubles: ReadonlyMap<string, number>
}

/** Where a load runs, and what it writes to. */
export interface LoadPlace {
  readonly image: string
  readonly service: string
  readonly table: string
  /** The Kubernetes node to run at: one that no fault of the test takes away. */
  readonly nodeName?: string
}

/** A load on one table that exists. */
export class LoadPod implements AsyncDisposable {
  readonly #namespace: TestNamespace
  readonly #name: string
  readonly #logs: ChildProcess
  readonly #acknowledged = new Set<number>()
  /** When the writes since the mark were acknowledged. The first one is the last before the mark: a gap may be around it. */
  #times: number[] = []
  readonly #troubles = new Map<string, number>()

  private constructor(namespace: TestNamespace, name: string, logs: ChildProcess) {
    this.#namespace = namespace
    this.#name = name
    this.#logs = logs
    if (logs.stdout !== null) {
      createInterface({ input: logs.stdout }).on('line', (line) => this.#take(line))
    }
  }

  /** Resolves when the first documents are acknowledged. */
  static async start(
    namespace: TestNamespace,
    { image, service, table, nodeName }: LoadPlace,
  ): Promise<LoadPod> {
    const name = `load-${table}`
    const url = `http://${service}:8080/api/v1/tables/${table}/batch`
    await namespace.apply(writerPod({ name, image, url, nodeName }))
    await namespace.kubectl(['wait', '--for=condition=Ready', '--timeout=60s', `pod/${name}`])
    const { tier } = namespace
    const logs = spawn(tier.program, [...namespace.here(), 'logs', '--follow', name], {
      env: { ...process.env, KUBECONFIG: tier.kubeconfig },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const load = new LoadPod(namespace, name, logs)
    await load.advances()
    return load
  }

  /** Resolves when something was acknowledged after the call. */
  async advances(): Promise<void> {
    const before = this.#acknowledged.size
    await eventually(
      'a write is acknowledged',
      async () => this.#acknowledged.size,
      (count) => count > before,
    )
  }

  /** Every number whose write was acknowledged since the load began. */
  acknowledged(): readonly number[] {
    return [...this.#acknowledged]
  }

  report(): LoadReport {
    const times = this.#times.toSorted((one, other) => one - other)
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at))
    return {
      writes: gaps.length,
      longestGapMs: gaps.reduce((longest, gap) => Math.max(longest, gap), 0),
      troubles: new Map(this.#troubles),
    }
  }

  /** What is met from now on is in a report of its own. */
  mark(): void {
    this.#times = this.#times.slice(-1)
    this.#troubles.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#namespace.kubectl(['delete', 'pod', this.#name, '--grace-period=1', '--wait'])
    if (this.#logs.exitCode === null) await once(this.#logs, 'exit')
  }

  #take(line: string): void {
    const [word, number, at] = line.split(' ')
    if (word === 'ack') {
      this.#acknowledged.add(Number(number))
      this.#times.push(Number(at))
    } else {
      this.#troubles.set(line, (this.#troubles.get(line) ?? 0) + 1)
    }
  }
}

function writerPod({
  name,
  image,
  url,
  nodeName,
}: {
  readonly name: string
  readonly image: string
  readonly url: string
  readonly nodeName: string | undefined
}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10_001,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: 'load',
          image,
          imagePullPolicy: 'IfNotPresent',
          command: ['/usr/bin/tini', '--', 'node', '-e', WRITER, '--', url, `${WRITERS}`],
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    },
  }
}
