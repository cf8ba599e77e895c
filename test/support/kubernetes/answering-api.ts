// An API server over HTTP that answers what a test says by path, and a kubeconfig that names it.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { close, listen, portOf } from '../servers/local-server.ts'

/** A status and a body, or an object with status 200. */
export type ApiAnswer = readonly [status: number, body: unknown]

/** Answers by path without its query; another path is one that is not served. */
export type ApiAnswers = Readonly<Record<string, ApiAnswer>>

/** A refusal as the API words it. */
export function refusal(code: number, reason: string, message: string): ApiAnswer {
  return [code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message }]
}

export function listOf(items: readonly unknown[]): ApiAnswer {
  return [200, { metadata: { resourceVersion: '9' }, items }]
}

export class AnsweringApi implements AsyncDisposable {
  readonly paths: string[] = []
  readonly url: string
  readonly #server: Server

  private constructor(server: Server, paths: string[]) {
    this.#server = server
    this.url = `http://127.0.0.1:${portOf(server)}`
    this.paths = paths
  }

  static async start(answers: ApiAnswers): Promise<AnsweringApi> {
    const paths: string[] = []
    const server = await listen('127.0.0.1', ({ url = '' }, response) => {
      paths.push(url)
      const [status, body] =
        answers[url.split('?')[0] ?? ''] ?? refusal(404, 'NotFound', 'the server could not find it')
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    return new AnsweringApi(server, paths)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await close(this.#server)
  }
}

/** A folder with a kubeconfig whose context `dev`, of namespace `library`, names the server. */
export class KubeConfigFolder implements AsyncDisposable {
  readonly file: string
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
    this.file = path.join(folder, 'config')
  }

  static async open(server: string): Promise<KubeConfigFolder> {
    const folder = new KubeConfigFolder(await mkdtemp(path.join(tmpdir(), 'quarry-kube-')))
    // The library refuses credentials over plain HTTP otherwise.
    const isPlain = server.startsWith('http:')
    const config = {
      'current-context': 'dev',
      clusters: [{ name: 'one', cluster: { server, 'insecure-skip-tls-verify': isPlain } }],
      users: [{ name: 'ada', user: { token: 'secret-token' } }],
      contexts: [{ name: 'dev', context: { cluster: 'one', user: 'ada', namespace: 'library' } }],
    }
    await writeFile(folder.file, JSON.stringify(config))
    return folder
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true })
  }
}
