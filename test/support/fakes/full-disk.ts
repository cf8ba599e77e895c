// A disk that is full at one moment: the function of node:fs that would write then fails with ENOSPC.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const real = { openSync: fs.openSync, writeSync: fs.writeSync }

export class FullDisk {
  readonly #failsAt: number
  #writes = 0

  /** Fails at that write, counted from 1; making a file is one. There is room again afterwards. */
  constructor(failsAt: number) {
    this.#failsAt = failsAt
  }

  get hasFailed(): boolean {
    return this.#writes >= this.#failsAt
  }

  /** Nothing else in the process may write meanwhile. */
  run(action: () => void): void {
    Object.assign(fs, {
      openSync: (...args: Parameters<typeof fs.openSync>) => {
        if (args[1] !== 'r') this.#count()
        return real.openSync(...args)
      },
      writeSync: (...args: unknown[]): unknown => {
        this.#count()
        return Reflect.apply(real.writeSync, undefined, args)
      },
    })
    syncBuiltinESMExports()
    try {
      action()
    } finally {
      Object.assign(fs, real)
      syncBuiltinESMExports()
    }
  }

  #count(): void {
    this.#writes += 1
    if (this.#writes !== this.#failsAt) return
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  }
}
