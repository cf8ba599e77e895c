import type { GraphSession } from '../../../inference/runtime/graph-session.ts'

/** Records the calls between a runner and its sessions. */
export class SessionWatch {
  readonly #open: (file: string) => Promise<GraphSession>
  readonly #unreleased = new Set<GraphSession>()
  opened = 0
  runs = 0
  /** Opening the session of this number fails, counted from 1. */
  failsAtOpening = Infinity
  failsAtRuns = false
  /** Called in each run, with its number, counted from 1. */
  onRun: (run: number) => void = () => undefined

  constructor(open: (file: string) => Promise<GraphSession>) {
    this.#open = open
  }

  /** Sessions that are open. */
  get unreleased(): number {
    return this.#unreleased.size
  }

  async openSession(file: string): Promise<GraphSession> {
    this.opened += 1
    if (this.opened === this.failsAtOpening) throw new Error('cannot be opened')
    const session = await this.#open(file)
    this.#unreleased.add(session)
    return {
      inputs: session.inputs,
      outputs: session.outputs,
      run: (feeds, wanted) => {
        this.runs += 1
        this.onRun(this.runs)
        if (this.failsAtRuns) return Promise.reject(new Error('cannot be run'))
        return session.run(feeds, wanted)
      },
      release: () => {
        this.#unreleased.delete(session)
        return session.release()
      },
    }
  }
}
