// A worker whose one kind of model does what it is asked to. Runs as a process and as a thread.

import { readFile } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { serveModels } from '../../../inference/runtime/worker-host.ts'
import { unreachable } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'

/** What an item or a request of the scripted model says. */
export type ScriptedWork =
  | { readonly kind: 'echo'; readonly value: unknown }
  | { readonly kind: 'refuse' }
  /** The content of a file, or the code of the refusal. */
  | { readonly kind: 'read'; readonly file: string }
  /** An answer that cannot be sent. */
  | { readonly kind: 'unsendable' }
  /** Ends when it is cancelled. */
  | { readonly kind: 'wait' }
  /** Events from 0 on, then how many there were. */
  | { readonly kind: 'count'; readonly to: number }
  /** So many events, and the worker ends in the middle of it. */
  | { readonly kind: 'die'; readonly after: number }

serveModels((spec, settings) =>
  Promise.resolve({
    info: { spec, settings },
    run: (items: readonly ScriptedWork[], signal) =>
      Promise.all(items.map((item) => perform(item, () => undefined, signal))),
    start: (request: ScriptedWork, emit, signal) => perform(request, emit, signal),
    dispose: () => Promise.resolve(),
  }),
)

async function perform(
  work: ScriptedWork,
  emit: (event: unknown) => void,
  signal: AbortSignal,
): Promise<unknown> {
  switch (work.kind) {
    case 'echo':
      return work.value
    case 'read':
      return readFile(work.file, 'utf8').catch((error: NodeJS.ErrnoException) => error.code)
    case 'refuse':
      throw new ServiceError('INVALID_ARGUMENT', 'text: it is refused')
    case 'unsendable':
      return () => undefined
    case 'wait':
      for (;;) {
        signal.throwIfAborted()
        await setImmediate()
      }
    case 'count':
      for (let event = 0; event < work.to; event += 1) emit(event)
      return work.to
    case 'die':
      for (let event = 0; event < work.after; event += 1) emit(event)
      return process.exit(1)
    default:
      return unreachable(work)
  }
}
