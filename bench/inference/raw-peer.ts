import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { must } from '../../lib/assert.ts'
import type { RawAnswer, RawJob } from './raw-process.ts'

const SCRIPT = path.join(import.meta.dirname, 'raw-process.ts')
const WARM_UP = [[128, 128, 128, 128]]

export interface RawSetting {
  readonly graphFile: string
  readonly processes: number
  /** Of each process. */
  readonly threads: number
}

/** Processes with a session each, that share out batches of known lengths. */
export class RawPeer implements AsyncDisposable {
  readonly #children: readonly ChildProcess[]

  static async start({ graphFile, processes, threads }: RawSetting): Promise<RawPeer> {
    const peer = new RawPeer(processes)
    await peer.#all(() => ({ kind: 'open', graphFile, threads }))
    await peer.#all(() => ({ kind: 'run', batches: WARM_UP }))
    return peer
  }

  private constructor(processes: number) {
    this.#children = Array.from({ length: processes }, () => fork(SCRIPT))
  }

  /** Texts per second over all processes, until the last of them is done. */
  async run(batches: readonly (readonly number[])[]): Promise<number> {
    const count = this.#children.length
    const elapsed = await this.#all((child) => ({
      kind: 'run',
      batches: batches.filter((_, index) => index % count === child),
    }))
    return (batches.flat().length / Math.max(...elapsed)) * 1000
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    }
  }

  #all(jobOf: (child: number) => RawJob): Promise<number[]> {
    return Promise.all(this.#children.map((child, index) => exchange(child, jobOf(index))))
  }
}

async function exchange(child: ChildProcess, job: RawJob): Promise<number> {
  const done = new AbortController()
  const ended = once(child, 'exit', { signal: done.signal }).then(() => {
    throw new Error('a process of the raw runtime ended')
  })
  ended.catch(() => undefined) // lost the race
  child.send(job)
  try {
    const [answer]: RawAnswer[] = await Promise.race([once(child, 'message'), ended])
    return must(answer, 'answer of the raw runtime').elapsedMs
  } finally {
    done.abort()
  }
}
