// An operator in a process of its own, whose stores are well (many-entry.ts): for what only a process can go through.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { must } from '../../../../lib/assert.ts'
import type { TestNamespace } from '../test-namespace.ts'

const ENTRY = path.join(import.meta.dirname, 'many-entry.ts')

/**
 * What V8 takes by itself in a container with the memory limit of the chart, as `v8.getHeapStatistics()` tells there. It
 * would spread out over the memory of this machine.
 */
const AS_IN_THE_CONTAINER = ['--max-old-space-size=256', '--max-semi-space-size=1']

/** What the process tells of itself, each fourth of a second. */
export interface Told {
  /** How many clusters it has asked for their state. */
  readonly asked: number
  /** How often it has asked any of them. */
  readonly looks: number
  /** The bytes of memory that it takes. */
  readonly rss: number
  /** The processor time that it has taken so far. */
  readonly cpuMs: number
}

/** Who it is for the API server, and the Lease by which it leads; without one it leads at once. */
export interface ProcessOptions {
  readonly user: string
  readonly leaseName?: string
}

export class OperatorProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  #told: Told = { asked: 0, looks: 0, rss: 0, cpuMs: 0 }

  constructor({ tier, name }: TestNamespace, { user, leaseName = '' }: ProcessOptions) {
    const args = [...AS_IN_THE_CONTAINER, ENTRY, tier.kubeconfig, name, user, leaseName]
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const input = must(this.#child.stdout, 'its output')
    createInterface({ input }).on('line', (line) => {
      const [word, ...figures] = line.split(' ')
      const [asked = 0, looks = 0, rss = 0, cpuMs = 0] = figures.map(Number)
      if (word === 'asked') this.#told = { asked, looks, rss, cpuMs }
    })
  }

  get told(): Told {
    return this.#told
  }

  /** Undefined while it runs. `null` after a signal. */
  get exitCode(): number | null | undefined {
    const { exitCode, signalCode } = this.#child
    return exitCode === null && signalCode === null ? undefined : exitCode
  }

  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    this.#child.kill(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.exitCode !== undefined) return
    const exited = once(this.#child, 'exit')
    this.signal('SIGKILL')
    await exited
  }
}
