import { execFile } from 'node:child_process'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { JobProcess } from './job-process.ts'
import type { TransformersAnswer, TransformersJob } from './transformers-process.ts'

const SCRIPT = path.join(import.meta.dirname, 'transformers-process.ts')
const NAME = '@huggingface/transformers'
const VERSION = '4.2.0'
export const TRANSFORMERS_PEER = `transformers.js ${VERSION}`
const INSTALL_TIMEOUT_MS = 10 * 60_000

type Done = TransformersAnswer & { readonly kind: 'done' }

/** Installs the package into a folder of its own, where it stays for later runs. */
export async function installTransformers(): Promise<string> {
  const folder = path.join(tmpdir(), 'quarry-bench-peers', `transformers-${VERSION}`)
  if (await exists(path.join(folder, 'node_modules', NAME, 'package.json'))) return folder
  await mkdir(folder, { recursive: true })
  await writeFile(path.join(folder, 'package.json'), '{"private":true}')
  // Its dependencies bring their binaries with them; their scripts would download others.
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder]
  const run = promisify(execFile)
  await run('npm', ['install', ...options, `${NAME}@${VERSION}`], { timeout: INSTALL_TIMEOUT_MS })
  return folder
}

async function exists(file: string): Promise<boolean> {
  try {
    await access(file)
    return true
  } catch {
    return false
  }
}

/** The place of the package and of the model. */
export interface TransformersSetting {
  /** The folder in which the package is installed. */
  readonly folder: string
  readonly modelsDir: string
  /** The model's folder below `modelsDir`. */
  readonly model: string
}

/** A process that embeds batch after batch, with as many threads as the package takes. */
export class TransformersPeer implements AsyncDisposable {
  readonly #child = new JobProcess<TransformersJob, TransformersAnswer>({
    script: SCRIPT,
    name: TRANSFORMERS_PEER,
  })

  static async start(setting: TransformersSetting): Promise<TransformersPeer> {
    const peer = new TransformersPeer()
    await peer.#perform({ kind: 'open', packageName: NAME, ...setting })
    return peer
  }

  embed(batches: readonly (readonly string[])[]): Promise<Done> {
    return this.#perform({ kind: 'embed', batches })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#child[Symbol.asyncDispose]()
  }

  async #perform(job: TransformersJob): Promise<Done> {
    const answer = await this.#child.perform(job)
    if (answer.kind === 'done') return answer
    throw new Error(`${TRANSFORMERS_PEER}: ${answer.message}`)
  }
}
