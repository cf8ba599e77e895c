// A real inference server in the test's process, on free ports, with a models directory of its own.

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseInferenceConfig } from '../../../inference/config.ts'
import type { InferenceConfig } from '../../../inference/config.ts'
import { startInference } from '../../../inference/main.ts'
import type { RunningInference, InferenceOverrides } from '../../../inference/main.ts'

/** The whole answer to a request. */
export class InferenceAnswer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer

  constructor(status: number, headers: Headers, bytes: Buffer) {
    this.status = status
    this.headers = headers
    this.bytes = bytes
  }

  get json() {
    return JSON.parse(this.bytes.toString())
  }
}

/**
 * A running inference server with its models directory. Disposing it ends the server and deletes
 * the directory.
 */
export class InferenceServer implements AsyncDisposable {
  readonly running: RunningInference
  readonly modelsDir: string

  private constructor(running: RunningInference, modelsDir: string) {
    this.running = running
    this.modelsDir = modelsDir
  }

  /** `write` fills the models directory before the server looks at it. */
  static async start(
    write: (modelsDir: string) => Promise<unknown> = async () => undefined,
    config: Partial<InferenceConfig> = {},
    overrides: InferenceOverrides = {},
  ): Promise<InferenceServer> {
    const modelsDir = await mkdtemp(path.join(tmpdir(), 'quarry-models-'))
    await mkdir(modelsDir, { recursive: true })
    await write(modelsDir)
    const flags = { port: '0', healthPort: '0', modelsDir, logLevel: 'error' }
    const whole = { ...parseInferenceConfig({}, flags), ...config }
    const running = await startInference(whole, overrides)
    return new InferenceServer(running, modelsDir)
  }

  get url(): string {
    return this.running.apiUrl
  }

  async post(
    route: string,
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
    signal?: AbortSignal,
  ): Promise<InferenceAnswer> {
    const response = await fetch(this.url + route, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    })
    return received(response)
  }

  async get(route: string, from = this.url): Promise<InferenceAnswer> {
    return received(await fetch(from + route))
  }

  /** The value of a metric's line, labels included; 0 if there is none. */
  async metric(line: string): Promise<number> {
    const { bytes } = await this.get('/metrics', this.running.healthUrl)
    const found = bytes
      .toString()
      .split('\n')
      .find((each) => each.startsWith(`${line} `))
    return found === undefined ? 0 : Number(found.slice(line.length + 1))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.running.close()
    await rm(this.modelsDir, { recursive: true })
  }
}

async function received(response: Response): Promise<InferenceAnswer> {
  const bytes = Buffer.from(await response.arrayBuffer())
  return new InferenceAnswer(response.status, response.headers, bytes)
}
