// An operator in a process of its own, whose stores are well (many-entry.ts): for what only a process can go through.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { must } from '../../../../lib/assert.ts'
import type { TestNamespace } from '../test-namespace.ts'

const ENTRY = path.join(import.meta.dirname, 'many-entry.ts')

/** What the process tells of itself, each fourth of a second. */
export interface Told {
  /** How many clusters it has asked for their state. */
  readonly asked: number
  /** The bytes of memory that it takes. */
  readonly rss: number
}

/** Who it is for the API server, and the Lease by which it leads; without one it leads at once. */
export interface ProcessOptions {
  readonly user: string
  readonly leaseName?: string
}

export class OperatorProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  #told: Told = { asked: 0, rss: 0 }

  constructor({ tier, name }: TestNamespace, { user, leaseName = '' }: ProcessOptions) {
    const args = [ENTRY, tier.kubeconfig, name, user, leaseName]
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const input = must(this.#child.stdout, 'its output')
    createInterface({ input }).on('line', (line) => {
      const [word, asked, , rss] = line.split(' ')
      if (word === 'asked') this.#told = { asked: Number(asked), rss: Number(rss) }
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
