// Starts the inference server as users run it, with two models.

import path from 'node:path'
import { seededRandom } from '../../lib/random.ts'
import type { Random } from '../../lib/random.ts'
import { ReadyProcess } from '../child-process.ts'
import type { Bench } from '../suite.ts'
import { writeBenchModels } from './embedding-models.ts'
import type { BenchModels } from './embedding-models.ts'

const BIN = path.resolve(import.meta.dirname, '../../bin/quarry')

/** A running inference server. */
export interface InferenceServer extends AsyncDisposable {
  readonly api: string
  readonly health: string
  readonly process: ReadyProcess
}

export async function startInference(bench: Bench, modelsDir: string): Promise<InferenceServer> {
  const { profileDirectory } = bench
  const profiling =
    profileDirectory === undefined
      ? []
      : ['--cpu-prof', '--cpu-prof-dir', path.join(profileDirectory, 'inference')]
  const [process, ready] = await ReadyProcess.start({
    name: 'quarry inference',
    args: [
      ...profiling,
      BIN,
      'inference',
      '--port=0',
      '--health-port=0',
      `--models-dir=${modelsDir}`,
      '--log-level=warn',
    ],
  })
  return {
    api: String(ready['api']),
    health: String(ready['health']),
    process,
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  }
}

/** The common parts of the suite's rows. The models are written once. */
export class InferenceWorld {
  readonly #bench: Bench
  /** The source of texts. Each text is generated once, so that no cache has its answer. */
  readonly random: Random
  #models: Promise<BenchModels> | undefined

  constructor(bench: Bench) {
    this.#bench = bench
    this.random = seededRandom(bench.seed)
  }

  models(): Promise<BenchModels> {
    this.#models ??= this.#writeModels()
    return this.#models
  }

  async start(): Promise<InferenceServer> {
    const { modelsDir } = await this.models()
    return startInference(this.#bench, modelsDir)
  }

  #writeModels(): Promise<BenchModels> {
    this.#bench.progress('inference: writing the models')
    return writeBenchModels(path.join(this.#bench.directory, 'models'), this.#bench.seed)
  }
}
