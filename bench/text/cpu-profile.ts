import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import path from 'node:path'

/** A CPU profile of this process from `start` to `stop`, so that loading is not in it. */
export class CpuProfile {
  readonly #session = new Session()

  static async start(): Promise<CpuProfile> {
    const profile = new CpuProfile()
    profile.#session.connect()
    await profile.#session.post('Profiler.enable')
    await profile.#session.post('Profiler.start')
    return profile
  }

  /** Leaves a file in the directory, which is made if need be. */
  async stop(directory: string): Promise<void> {
    const { profile } = await this.#session.post('Profiler.stop')
    mkdirSync(directory, { recursive: true })
    const file = path.join(directory, `searches-${process.pid}.cpuprofile`)
    writeFileSync(file, JSON.stringify(profile))
    this.#session.disconnect()
  }
}
