import type { ResolveCommand } from '../command/command.ts'
import type { ResolveOptions } from '../shard.ts'
import { OPERATIONS, writeResolve } from './shard-calls.ts'
import type { ShardAsker } from './shard-asker.ts'
import { WireWriter } from './wire/wire-writer.ts'

/** The stream's head says that the keys are free, and its end that the resolution is durable. */
export function remoteResolve(
  asker: ShardAsker,
  command: ResolveCommand,
  { isAwaited = true, onReleased }: ResolveOptions = {},
): Promise<void> {
  const argument = new WireWriter()
  writeResolve(argument, { command, isAwaited })
  let isReleased = false
  const question = { operation: OPERATIONS.resolve, argument, options: {} } as const
  return asker.stream(question, async (answer) => {
    if (!isReleased) onReleased?.()
    isReleased = true
    await answer.joined(0)
  })
}
