import path from 'node:path'
import { JobProcess } from './job-process.ts'
import type { RawAnswer, RawJob } from './raw-process.ts'

const SCRIPT = path.join(import.meta.dirname, 'raw-process.ts')
const WARM_UP = [[128, 128, 128, 128]]

/** How the peer runs a graph. */
export interface RawSetting {
  readonly graphFile: string
  readonly processes: number
  /** The threads of each process. */
  readonly threads: number
}

/** Several processes with one session each, which divide batches of known lengths. */
export class RawPeer implements AsyncDisposable {
  readonly #children: readonly JobProcess<RawJob, RawAnswer>[]

  static async start({ graphFile, processes, threads }: RawSetting): Promise<RawPeer> {
    const peer = new RawPeer(processes)
    await peer.#all(() => ({ kind: 'open', graphFile, threads }))
    await peer.#all(() => ({ kind: 'run', batches: WARM_UP }))
    return peer
  }

  private constructor(processes: number) {
    this.#children = Array.from(
      { length: processes },
      () => new JobProcess({ script: SCRIPT, name: 'a process of the raw runtime' }),
    )
  }

  /** The texts per second of all processes together, until the last one has finished. */
  async run(batches: readonly (readonly number[])[]): Promise<number> {
    const count = this.#children.length
    const elapsed = await this.#all((child) => ({
      kind: 'run',
      batches: batches.filter((_, index) => index % count === child),
    }))
    return (batches.flat().length / Math.max(...elapsed)) * 1000
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) await child[Symbol.asyncDispose]()
  }

  async #all(jobOf: (child: number) => RawJob): Promise<number[]> {
    const answers = this.#children.map((child, index) => child.perform(jobOf(index)))
    return (await Promise.all(answers)).map(({ elapsedMs }) => elapsedMs)
  }
}
