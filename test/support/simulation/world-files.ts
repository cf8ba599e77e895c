// The files of a process in virtual time. The promises of `node:fs/promises` do their work in a later turn, so that no
// moment of a simulation waits for the threads of a real file system. Syncs do nothing: the processes of a
// simulation end, and its machine never does. A process may end between any two changes of files: from then on its
// changes are not made, and its promises stay unanswered.

import fs from 'node:fs'
import fsPromises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { InvariantError } from '../../../lib/assert.ts'

/** What the code below a shard calls; other calls are refused, so that none is forgotten. */
const PROMISED = ['mkdir', 'readdir', 'readFile', 'rename', 'rm'] as const
const REFUSED = ['access', 'appendFile', 'copyFile', 'link', 'lstat', 'stat', 'unlink', 'writeFile']
/** At each of these a process may end. */
const CHANGES = ['linkSync', 'mkdirSync', 'renameSync', 'rmSync', 'writeFileSync', 'writeSync']
const SYNCS = ['fsyncSync', 'fdatasyncSync']

type Call = (...given: never[]) => unknown

interface PlannedEnd {
  changesLeft: number
  readonly onEnd: () => void
}

export class WorldFiles {
  #isSilent = false
  #plannedEnd: PlannedEnd | undefined

  /** Between the end of one process and the start of the next: nothing is changed, and nothing answered. */
  set isSilent(isSilent: boolean) {
    this.#isSilent = isSilent
    this.#plannedEnd = undefined
  }

  /** The process ends just before the change with this number, from 1; `onEnd` hears of it. */
  endAtChange(number: number, onEnd: () => void): void {
    this.#plannedEnd = { changesLeft: number, onEnd }
  }

  /** From now on the functions of both modules work so. Answers how to end that. */
  take(): () => void {
    const back = [
      ...CHANGES.map((name) => replaced(fs, name, (real) => this.#change(real))),
      ...SYNCS.map((name) => replaced(fs, name, () => () => undefined)),
      ...PROMISED.map((name) => replaced(fsPromises, name, () => this.#promised(name))),
      ...REFUSED.map((name) => replaced(fsPromises, name, () => refusal(name))),
      replaced(fsPromises, 'open', () => (file: string, flags: string, mode?: number) => {
        return this.#later(() => this.#handle(fs.openSync(file, flags, mode)))
      }),
    ]
    syncBuiltinESMExports()
    return () => {
      for (const restore of back) restore()
      syncBuiltinESMExports()
    }
  }

  #change(real: Call): Call {
    return (...given) => {
      const planned = this.#plannedEnd
      if (planned !== undefined) planned.changesLeft -= 1
      if (planned?.changesLeft === 0) {
        this.isSilent = true
        planned.onEnd()
      }
      if (this.#isSilent) throw new InvariantError('the simulated process has ended')
      return real(...given)
    }
  }

  #promised(name: (typeof PROMISED)[number]): Call {
    const call: Call = (...given) => Reflect.apply(Reflect.get(fs, `${name}Sync`), fs, given)
    return (...given) => this.#later(() => call(...given))
  }

  #handle(descriptor: number) {
    return {
      writeFile: (content: string) => this.#later(() => fs.writeFileSync(descriptor, content)),
      sync: () => this.#later(() => undefined),
      // Whatever happens, no descriptor of a process that ended stays.
      close: async () => fs.closeSync(descriptor),
    }
  }

  #later<Answer>(call: () => Answer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#isSilent) return
      setImmediate(() => {
        if (this.#isSilent) return
        try {
          resolve(call())
        } catch (error) {
          if (!this.#isSilent) reject(error)
        }
      })
    })
  }
}

function replaced(module: object, name: string, by: (real: Call) => Call): () => void {
  const real: Call = Reflect.get(module, name)
  Reflect.set(module, name, by(real))
  return () => void Reflect.set(module, name, real)
}

function refusal(name: string): Call {
  return () => {
    throw new InvariantError(`a simulation has no fs/promises.${name}`)
  }
}
