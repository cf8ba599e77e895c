import vm from 'node:vm'
import { InvariantError } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'

interface Slot {
  task: () => unknown
}

/**
 * Runs a synchronous task for at most `limitMs`. A regular expression from a model's file may take
 * exponential time on some texts. Only the interpreter can stop it, because no check of the clock
 * runs meanwhile. Starting the watch costs about 0.1 ms, so short and trusted work should not use it.
 *
 * Contract:
 * - The task runs in the caller's realm, so its results and errors arrive unchanged.
 * - After `limitMs` the task is stopped anywhere, and `run` fails with code DEADLINE_EXCEEDED.
 */
export class TimeLimit {
  readonly #limitMs: number
  readonly #slot: Slot = { task: () => undefined }
  readonly #context: vm.Context
  readonly #script = new vm.Script('runTask()')

  constructor(limitMs: number) {
    this.#limitMs = limitMs
    this.#context = vm.createContext({ runTask: () => this.#slot.task() })
  }

  run<T>(what: string, task: () => T): T {
    const answers: T[] = []
    this.#slot.task = () => answers.push(task())
    try {
      this.#script.runInContext(this.#context, { timeout: this.#limitMs })
    } catch (error) {
      if (!isTimeout(error)) throw error
      throw new ServiceError(
        'DEADLINE_EXCEEDED',
        `${what} was stopped after ${this.#limitMs} ms; shorten the text or replace the model's files`,
        { cause: error },
      )
    } finally {
      this.#slot.task = () => undefined
    }
    for (const answer of answers) return answer
    throw new InvariantError('a task that neither failed nor was stopped has answered')
  }
}

/** The error comes from the script's context, so it is not an instance of our Error class. */
function isTimeout(error: unknown): boolean {
  const code =
    typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}
