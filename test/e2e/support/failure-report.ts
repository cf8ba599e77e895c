// What a cluster can say about a failed test, in files: objects (never secrets), events, pods, logs, metrics.

import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestNamespace } from './test-namespace.ts'

const OBJECTS =
  'statefulsets,deployments,jobs,pods,services,configmaps,persistentvolumeclaims,' +
  'poddisruptionbudgets,networkpolicies,serviceaccounts,leases'

/** One file each: what kubectl is asked for it. */
const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  'events.txt': ['get', 'events', '--sort-by=.lastTimestamp', '-o', 'wide'],
  'objects.yaml': ['get', OBJECTS, '-o', 'yaml'],
  'storeclusters.yaml': ['get', 'storeclusters.quarry.dev', '-o', 'yaml'],
  'pods.txt': ['describe', 'pods'],
}

/** What pods of a component answer on a port: the operator's metrics, a node's view of its cluster. */
const ANSWERS: Readonly<
  Record<string, readonly { readonly port: number; readonly path: string }[]>
> = {
  operator: [{ port: 4203, path: '/metrics' }],
  node: [
    { port: 4200, path: '/metrics' },
    { port: 8080, path: '/api/v1/status' },
    { port: 8080, path: '/api/v1/cluster/nodes' },
  ],
}

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
    readonly spec: { readonly containers: readonly { readonly name: string }[] }
  }[]
}

/** The directory of the files: below QUARRY_E2E_REPORTS, or below the system's directory for temporary files. */
export async function collectFailure(namespace: TestNamespace, title: string): Promise<string> {
  const reports = process.env['QUARRY_E2E_REPORTS'] ?? path.join(tmpdir(), 'quarry-e2e-reports')
  const test = title.replaceAll(/[^a-zA-Z0-9]+/g, '-').slice(0, 100)
  const directory = path.join(reports, namespace.name, test)
  await mkdir(directory, { recursive: true })
  const keep = async (file: string, args: readonly string[]): Promise<string> => {
    const text = await namespace.kubectl(args).catch(String)
    await writeFile(path.join(directory, file), text)
    return text
  }
  for (const [file, args] of Object.entries(QUESTIONS)) await keep(file, args)
  const pods = await podsIn(namespace)
  for (const { metadata, spec } of pods.items) {
    for (const { name: container } of spec.containers) {
      const logs = ['logs', metadata.name, '-c', container]
      await keep(`${metadata.name}.${container}.log`, logs)
      await keep(`${metadata.name}.${container}.previous.log`, [...logs, '--previous'])
    }
    for (const answer of ANSWERS[metadata.labels?.['app.kubernetes.io/component'] ?? ''] ?? []) {
      const file = `${metadata.name}${answer.path.replaceAll('/', '-')}.txt`
      await keep(file, ['exec', metadata.name, '--', 'node', '-e', askingFor(answer)])
    }
  }
  return directory
}

/** From inside: NetworkPolicies let nobody else in, not even the API server's proxy. */
function askingFor({
  port,
  path: asked,
}: {
  readonly port: number
  readonly path: string
}): string {
  return `fetch('http://127.0.0.1:${port}${asked}').then((answer) => answer.text()).then(console.log)`
}

async function podsIn(namespace: TestNamespace): Promise<PodList> {
  try {
    return JSON.parse(await namespace.kubectl(['get', 'pods', '-o', 'json']))
  } catch {
    return { items: [] }
  }
}
